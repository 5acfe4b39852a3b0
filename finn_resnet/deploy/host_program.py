"""The C++ host program of a deploy folder: the driver's transfers without Python."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from finn_resnet.boards import Board
from finn_resnet.deploy.block_design import block_design
from finn_resnet.deploy.driver import Stream
from finn_resnet.deploy.scripts import environment
from finn_resnet.deploy.vectors import TestVectors
from finn_resnet.generation.project_file import Project

HOST_FOLDER = "host"
INPUT_CODES = "input.bin"
_SOURCES = ("main.cpp", "registers.hpp", "Makefile")


def write_host_program(
    folder: Path, manifest: dict[str, Any], project: Project, board: Board, vectors: TestVectors
) -> None:
    """Write ``folder/host``: sources, this design's addresses, the test vectors as plain bytes.

    A board whose file describes no processing system has no addresses, and gets no program.
    """
    if not board.processing_system:
        return
    design = block_design(project, board)
    addresses = {dma.cell: dma.address for dma in design.dmas}
    addresses[manifest["counter"]] = design.counter_address
    host = folder / HOST_FOLDER
    host.mkdir(exist_ok=True)
    for name in _SOURCES:
        source = resources.files("finn_resnet.deploy") / HOST_FOLDER / name
        with resources.as_file(source) as path:
            shutil.copyfile(path, host / name)
    streams = {
        side: [Stream(item, manifest["beat_bytes"]) for item in manifest[side]]
        for side in ("inputs", "outputs")
    }
    text = (
        environment().get_template("design.hpp.j2").render(**manifest | streams, address=addresses)
    )
    (host / "design.hpp").write_text(text, encoding="utf-8")
    for streams_of, codes, pattern in (
        (streams["inputs"], vectors.inputs, INPUT_CODES),
        (streams["outputs"], vectors.outputs, "expected_{}.bin"),
    ):
        for stream in streams_of:
            content = np.ascontiguousarray(codes[stream.name], stream.dtype).tobytes()
            (host / pattern.format(stream.name)).write_bytes(content)
