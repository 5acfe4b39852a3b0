"""The images a build is verified on, as the float input of its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.image_set import ImageSet, load_image_set

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

DEFAULT_COUNT = 10


def verification_images(model: ModelWrapper, cfg: BuildConfig) -> ImageSet:
    """The images `cfg` asks for: uint8 [N, H, W, C] of the model's input size.

    Without an image set these are random pictures, after one all black and one all white: they
    reach codes that photographs do not.

    Raises:
        UserError: the set is unreadable, too small, or of another picture size.
    """
    _, channels, height, width = model.get_tensor_shape(model.graph.input[0].name)
    count = cfg.verify_num_images or DEFAULT_COUNT
    if cfg.verify_images is None:
        images = np.random.default_rng(0).integers(
            0, 256, (count, height, width, channels), dtype=np.uint8
        )
        images[0], images[1:2] = 0, 255
        return ImageSet(images, None)
    image_set = load_image_set(cfg.verify_images, count)
    if image_set.images.shape[1:] != (height, width, channels):
        raise UserError(
            f"image set '{cfg.verify_images}' holds pictures {list(image_set.images.shape[1:])}, "
            f"the model takes {[height, width, channels]} (height, width, channels); resize them"
        )
    return image_set


def float_input(images: np.ndarray, cfg: BuildConfig) -> np.ndarray:
    """Model input float32 [N, C, H, W]: `(pixel / 255 - input_mean) / input_std` per channel.

    Raises:
        UserError: mean or deviation for another number of channels.
    """
    channels = images.shape[3]
    for name in ("input_mean", "input_std"):
        values = getattr(cfg, name)
        if len(values) not in (1, channels):
            raise UserError(
                f"config key '{name}' has {len(values)} entries, the pictures have {channels} "
                "channels; give one value or one for each channel"
            )
    scaled = images.astype(np.float64) / 255
    normalised = (scaled - np.array(cfg.input_mean)) / np.array(cfg.input_std)
    return normalised.transpose(0, 3, 1, 2).astype(np.float32)
