"""Batches of images as the network takes them, drawn the same way for the same seed and epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from finn_resnet.training.augmentation import CropAndFlip
from finn_resnet.training.data import LabelledImages

EVALUATION_BATCH = 250


def to_input(images: np.ndarray) -> Tensor:
    """uint8 [N, H, W, 3] -> float32 [N, 3, H, W] in [0, 1], channels last in memory."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255)


class TrainingBatches:
    """Shuffled, augmented batches; the images left over at the end of an epoch are dropped.

    The first `small_crop_epochs` epochs show crops of side `small_crop`, all later ones crops of
    the images' full size.
    """

    def __init__(
        self,
        images: LabelledImages,
        batch_size: int,
        seed: int,
        small_crop: int | None = None,
        small_crop_epochs: int = 0,
    ) -> None:
        """`small_crop` None shows full crops in every epoch; equal seeds draw equal batches."""
        self.batch_size = min(batch_size, len(images))
        self.seed = seed
        self.labels = images.labels
        self.per_epoch = len(images) // self.batch_size
        full = min(images.images.shape[1:3])
        self.full_crops = CropAndFlip(images.images, full)
        self.small_crops = CropAndFlip(images.images, small_crop or full)
        self.small_crop_epochs = small_crop_epochs

    def epoch(self, index: int) -> Iterator[tuple[Tensor, Tensor]]:
        """(inputs, labels) of epoch `index`. A resumed run draws what an unbroken one would."""
        rng = np.random.default_rng([self.seed, index])
        order = rng.permutation(len(self.labels))
        crops = self.small_crops if index < self.small_crop_epochs else self.full_crops
        for step in range(self.per_epoch):
            chosen = order[step * self.batch_size : (step + 1) * self.batch_size]
            yield to_input(crops.batch(chosen, rng)), torch.from_numpy(self.labels[chosen])


@torch.no_grad()
def predict(network: nn.Module, images: LabelledImages) -> np.ndarray:
    """Label of every image, int64 [N]; the first of equal logits wins."""
    network.eval()
    labels = [
        network(to_input(images.images[start : start + EVALUATION_BATCH])).argmax(1).numpy()
        for start in range(0, len(images), EVALUATION_BATCH)
    ]
    return np.concatenate(labels)


def accuracy(network: nn.Module, images: LabelledImages) -> float:
    """Share of images the network labels correctly, 0 to 1."""
    return float((predict(network, images) == images.labels).mean())
