"""Confusion matrix: which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from finn_resnet.errors import UserError

PICTURE_FORMATS = (".svg", ".png", ".pdf")
_WIDEST_WITH_NUMBERS = 20
"""Most classes whose counts are written into the cells."""


def confusion_matrix(true: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """int64 [classes, classes]: entry (t, f) counts images of class t labelled f.

    Args:
        true: labels [N] of the data set.
        found: labels [N] of the network.
        classes: number of classes; every label is below it.
    """
    return np.bincount(true * classes + found, minlength=classes**2).reshape(classes, classes)


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before a long evaluation.

    Raises:
        UserError: an unknown format, or a folder that does not exist.
    """
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise UserError(
            f"confusion matrix '{path}' must end in {', '.join(PICTURE_FORMATS)}; give such a name"
        )
    if not path.parent.is_dir():
        raise UserError(f"folder '{path.parent}' of the confusion matrix does not exist; create it")


def draw_confusion(matrix: np.ndarray, names: Sequence[str], title: str, path: Path) -> None:
    """Draw a confusion matrix [classes, classes], rows the true classes, into `path`.

    Shades are shares of the row, so that classes of unequal size compare. Needs matplotlib.

    Raises:
        UserError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    side = 2.5 + 0.55 * min(len(names), _WIDEST_WITH_NUMBERS)
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set(xlabel="label of the accelerator", ylabel="label of the data set", title=title)
    if len(names) <= _WIDEST_WITH_NUMBERS:
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
        axes.set_yticks(range(len(names)), names)
        for (row, column), count in np.ndenumerate(matrix):
            shade = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, f"{count}", ha="center", va="center", color=shade, fontsize=8)
    try:
        figure.savefig(path)
    except OSError as fault:
        raise UserError(
            f"confusion matrix '{path}' cannot be written: {fault.strerror}; give another "
            "--confusion"
        ) from fault
