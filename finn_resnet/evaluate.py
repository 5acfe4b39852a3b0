"""Accuracy of a quantised model on a labelled image set, by exact execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet import progress
from finn_resnet.errors import UserError
from finn_resnet.verify_output import fitting_images, float_input

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

BATCH = 25
"""Images executed at a time: bounds the memory."""


@dataclass(frozen=True)
class Evaluation:
    """`correct` of `images` were labelled as the set says; `precision` of the execution."""

    images: int
    correct: int
    precision: str

    @property
    def accuracy(self) -> float:
        """Fraction of images labelled correctly."""
        return self.correct / self.images


def evaluate(
    model: ModelWrapper,
    images: str | Path,
    count: int | None = None,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
) -> Evaluation:
    """Execute `model` on a labelled image set and count the labels it gets right.

    The largest value of the first output is the label, as everywhere in this package. Execution
    is qonnx's in float32 where that is exact, else the same graph in float64: the codes the
    accelerator reproduces.

    Args:
        model: QONNX model.
        images: image set with labels.
        count: number of images from the start of the set, all if None.
        mean: with `std`, the model's input is `(pixel / 255 - mean) / std`.
        std: see `mean`.

    Raises:
        UserError: an image set without labels, or one that does not fit the model.
    """
    from finn_resnet.verification.reference import Reference

    image_set = fitting_images(model, images, count)
    if image_set.labels is None:
        raise UserError(
            f"image set '{images}' has no labels, accuracy needs them: give 'labels' in the .npz, "
            "or one folder for each class"
        )
    reference = Reference(model)
    correct = 0
    for start in range(0, len(image_set.images), BATCH):
        batch = float_input(image_set.images[start : start + BATCH], mean, std)
        values = reference.run(batch)[reference.outputs[0]].reshape(len(batch), -1)
        labels = image_set.labels[start : start + BATCH]
        correct += int((values.argmax(axis=1) == labels).sum())
        progress.current().update(start + len(batch), len(image_set.images))
    return Evaluation(len(image_set.images), correct, reference.precision)
