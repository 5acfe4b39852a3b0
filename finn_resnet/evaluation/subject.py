"""What is evaluated: a finished build, or one made of a model for the evaluation alone."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.model_source import find_model, shipped_models
from finn_resnet.output_folder import ORIGINAL_MODEL, REPORT_NAME
from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbForm

if TYPE_CHECKING:
    from finn_resnet.training.data import LabelledImages

# From a model to C++ in seconds: unroll factors of the published space, formula stream depths.
# Board and factors decide how fast hardware is, not what it computes.
_BOARD = "KV260"
_MODE = "paper"


def is_build(source: str) -> bool:
    """Whether `source` is the output folder of a build, not a model's file or name.

    A folder that holds no build is taken for one unless a shipped model has its name, so that the
    error speaks of what is missing in it.
    """
    folder = Path(source)
    return (folder / REPORT_NAME).is_file() or (folder.is_dir() and source not in shipped_models())


def model_file(source: str) -> Path:
    """The QONNX file behind `source`: a model's file or name, or a build's original model.

    Raises:
        UserError: neither a build nor a model.
    """
    if is_build(source):
        return FinishedBuild.open(source).folder / ORIGINAL_MODEL
    return find_model(source)


@contextlib.contextmanager
def opened_build(source: str) -> Iterator[FinishedBuild]:
    """The build `source` names, or a temporary one of the model it names.

    Raises:
        UserError: neither a build nor a model that can become hardware.
    """
    if is_build(source):
        yield FinishedBuild.open(source)
        return
    from finn_resnet.build import build
    from finn_resnet.build.steps import DEFAULT_STEPS

    generated = DEFAULT_STEPS[: DEFAULT_STEPS.index("step_generate") + 1]
    steps = tuple(step for step in generated if step != "step_size_streams")
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as scratch:
        folder = Path(scratch) / "build"
        build(BuildConfig(source, _BOARD, str(folder), _MODE, steps=steps))
        yield FinishedBuild.open(folder)


def labelled_images(source: str, data: str | Path, count: int | None) -> LabelledImages:
    """The first `count` test images (all if None) of a data set, of the size `source` takes.

    Raises:
        UserError: no such model or build; a data set that is missing, damaged, too small, of
            another image size, or with labels the model does not know.
    """
    from finn_resnet.importing import load_model
    from finn_resnet.training.data import load_test_images
    from finn_resnet.verification.images import picture_shape

    model = load_model(model_file(source))
    outputs = math.prod(model.get_tensor_shape(model.graph.output[0].name)[1:])
    found = load_test_images(data, picture_shape(model), outputs)
    if count is not None and count > len(found):
        raise UserError(f"{data} holds {len(found)} test images, {count} are wanted; ask for fewer")
    return found.first(count or len(found))


def may_change_codes(build: FinishedBuild) -> bool:
    """Whether a build was asked for the published form of the addition, which changes codes."""
    return AbsorbForm.of(build.config.optimisations["absorb_add"]) is AbsorbForm.ACCUMULATOR
