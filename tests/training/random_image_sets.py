"""Small random image sets the training tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from finn_resnet.training.data import LabelledImages


def random_images(count: int, seed: int, classes: int = 10) -> LabelledImages:
    """Random images whose brightness follows their label, so that training has a signal."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    images = rng.integers(0, 100, (count, 32, 32, 3)) + 15 * labels[:, None, None, None]
    names = tuple(f"class{index}" for index in range(classes))
    return LabelledImages(images.astype(np.uint8), labels, names)


def save_archive(path: Path, images: LabelledImages) -> Path:
    """The set as an .npz archive of plain images."""
    np.savez(path, images=images.images, labels=images.labels, classes=np.array(images.classes))
    return path
