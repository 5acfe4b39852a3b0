"""The Jupyter notebook of a deploy folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_INTRODUCTION = """# {top} on {board}

Runs the accelerator in this folder. `driver.py` does the work; this notebook shows its parts.
The bitstream `{bit_file}` and its `.hwh` come from `make bitstream`."""

_OPEN = """from driver import Accelerator, check_vectors

accelerator = Accelerator(".")"""

_LOAD = """# The weights in URAM, once after the bitstream.
accelerator.load_parameters()"""

_VECTORS = """frames, wrong = check_vectors(accelerator)
print(f"{frames} frames of test vectors, {wrong} codes differ")"""

_MEASURE = """found = accelerator.measure(frames=1000)
print(f"{found.frames_per_second:.0f} frames/s, one frame in {found.latency_s * 1e6:.0f} us")"""

_IMAGES_TEXT = """## Your own images

uint8 `[N, {shape}]`, and their labels. Here random pictures, so the accuracy is chance."""

_IMAGES = """import numpy as np

images = np.random.default_rng(0).integers(0, 256, (20, {shape}), dtype=np.uint8)
labels = np.arange(20) % 10

result = accelerator.evaluate(images, labels)
print(f"accuracy {{result.accuracy:.1%}}, codes of the first image: {{result.codes[0].ravel()}}")"""


def notebook(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Notebook (nbformat 4) that opens, checks, measures and uses the accelerator of a manifest."""
    shape = ", ".join(map(str, manifest["inputs"][0]["shape"]))
    cells = [
        _cell("markdown", _INTRODUCTION.format(**manifest)),
        _cell("code", _OPEN),
        *([_cell("code", _LOAD)] if manifest["parameters"] else []),
        _cell("markdown", "## Test vectors\n\nCodes the model itself gives; none may differ."),
        _cell("code", _VECTORS),
        _cell("markdown", "## Speed\n\nWall-clock times of the driver, DMA transfers included."),
        _cell("code", _MEASURE),
        _cell("markdown", _IMAGES_TEXT.format(shape=shape)),
        _cell("code", _IMAGES.format(shape=shape)),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
