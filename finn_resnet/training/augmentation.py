"""Training-time augmentation on whole batches of uint8 images: random crop, random flip."""

from __future__ import annotations

import numpy as np

PADDING = 4


class CropAndFlip:
    """Draws one crop and one horizontal flip per image.

    Crops of the full size come from images padded by reflection; smaller crops, which make a
    step cheaper, from the images themselves. Both are made once, so that a batch is one gather.
    """

    def __init__(self, images: np.ndarray, size: int) -> None:
        """`images`: uint8 [N, H, W, 3]; `size`: side of the crops, at most H and W."""
        self.size = size
        self.images = images
        if size == min(images.shape[1:3]):
            border = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
            self.images = np.pad(images, border, mode="reflect")

    def batch(self, indices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """uint8 [len(indices), size, size, 3]: the chosen images, each cropped and flipped."""
        count = len(indices)
        height, width = self.images.shape[1:3]
        top = rng.integers(0, height - self.size + 1, count)
        left = rng.integers(0, width - self.size + 1, count)
        flip = rng.integers(0, 2, count).astype(bool)
        columns = np.broadcast_to(np.arange(self.size), (count, self.size)).copy()
        columns[flip] = columns[flip, ::-1]
        rows = np.arange(self.size) + top[:, None]
        columns += left[:, None]
        return self.images[indices[:, None, None], rows[:, :, None], columns[:, None, :]]
