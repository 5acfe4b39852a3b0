"""Training-time augmentation on whole batches of uint8 images: random crop, random flip."""

from __future__ import annotations

import numpy as np

PADDING = 4


class CropAndFlip:
    """Draws one crop of the padded image and one horizontal flip per image.

    The padded copies are made once, so that a batch is a single gather.
    """

    def __init__(self, images: np.ndarray) -> None:
        """`images`: uint8 [N, H, W, 3]."""
        self.height, self.width = images.shape[1:3]
        border = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
        self.padded = np.pad(images, border, mode="reflect")

    def batch(self, indices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """uint8 [len(indices), H, W, 3]: the chosen images, each with its own crop and flip."""
        count = len(indices)
        top = rng.integers(0, 2 * PADDING + 1, count)
        left = rng.integers(0, 2 * PADDING + 1, count)
        flip = rng.integers(0, 2, count).astype(bool)
        columns = np.broadcast_to(np.arange(self.width), (count, self.width)).copy()
        columns[flip] = columns[flip, ::-1]
        rows = np.arange(self.height) + top[:, None]
        columns += left[:, None]
        return self.padded[indices[:, None, None], rows[:, :, None], columns[:, None, :]]
