"""The pictures a build is verified on, and what the model sees of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.image_set import ImageSet, check_memory, load_image_set

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

DEFAULT_COUNT = 10
# `float_input` holds a pixel as uint8, float64 and float32.
_BYTES_EACH = 1 + 8 + 4


def verification_images(model: ModelWrapper, cfg: BuildConfig) -> ImageSet:
    """The images `cfg` asks for: uint8 [N, H, W, C] of the model's input size.

    Without an image set: one all black and one all white picture, which reach codes other
    pictures do not, then the package's sample pictures if they fit, then random pixels.

    Raises:
        UserError: the set is unreadable, too small, or of another picture size.
    """
    count = cfg.verify_num_images or DEFAULT_COUNT
    model_name = f"model input '{model.graph.input[0].name}'"
    check_memory(model_name, count, picture_shape(model), _BYTES_EACH)
    if cfg.verify_images is None:
        return ImageSet(_default_images(picture_shape(model), count), None)
    return fitting_images(model, cfg.verify_images, count)


def fitting_images(model: ModelWrapper, path: str | Path, count: int | None) -> ImageSet:
    """The first `count` images (all if None) of a set that has the model's picture size.

    Raises:
        UserError: the set is unreadable, too small, or of another picture size.
    """
    image_set, shape = load_image_set(path, count), picture_shape(model)
    if image_set.images.shape[1:] != shape:
        raise UserError(
            f"image set '{path}' holds pictures {list(image_set.images.shape[1:])}, the model "
            f"takes {list(shape)} (height, width, channels); resize them"
        )
    return image_set


def picture_shape(model: ModelWrapper) -> tuple[int, int, int]:
    """Height, width and channels of the model's input."""
    shape = model.get_tensor_shape(model.graph.input[0].name)[1:]
    if len(shape) == 1:
        return 1, 1, shape[0]
    if _channels_last(model):
        return tuple(shape)
    channels, height, width = shape
    return height, width, channels


def _channels_last(model: ModelWrapper) -> bool:
    """Whether the graph input is NHWC: a Transpose to NCHW comes before the first layer."""
    name = model.graph.input[0].name
    while True:
        readers = model.find_consumers(name)
        if not readers or len(readers) > 1:
            return False
        (node,) = readers
        if node.op_type == "QuantizeInput":
            return bool(model.get_customop_wrapper(node).get_nodeattr("channels_last"))
        if node.op_type == "Transpose":
            return any(list(a.ints) == [0, 3, 1, 2] for a in node.attribute)
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            return False
        name = node.output[0]


def model_input(
    model: ModelWrapper,
    images: np.ndarray,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
) -> np.ndarray:
    """What a model takes for uint8 images [N, H, W, C], in its own order of axes.

    Floats as `float_input`; for an integer input the pixels, less 128 where it is signed.
    """
    element = model.graph.input[0].type.tensor_type.elem_type
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    if dtype.kind == "f":
        values = float_input(images, mean, std)
    else:
        values = (images.astype(np.int64) + np.iinfo(dtype).min).astype(dtype)
        values = values.transpose(0, 3, 1, 2)
    shape = model.get_tensor_shape(model.graph.input[0].name)[1:]
    values = values.transpose(0, 2, 3, 1) if _channels_last(model) else values
    return values.reshape(len(values), *shape)


def _default_images(shape: tuple[int, int, int], count: int) -> np.ndarray:
    extremes = np.stack([np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8)])
    sample_file = resources.files("finn_resnet.models").joinpath("examples.npz")
    samples = load_image_set(Path(str(sample_file))).images
    samples = samples if samples.shape[1:] == shape else samples[:0].reshape(0, *shape)
    noise = np.random.default_rng(0).integers(0, 256, (count, *shape), dtype=np.uint8)
    return np.concatenate([extremes, samples, noise])[:count]


def float_input(
    images: np.ndarray, mean: Sequence[float] = (0.0,), std: Sequence[float] = (1.0,)
) -> np.ndarray:
    """Model input float32 [N, C, H, W] of uint8 images: `(pixel / 255 - mean) / std` per channel.

    Raises:
        UserError: mean or deviation for another number of channels.
    """
    channels = images.shape[3]
    for name, values in (("input_mean", mean), ("input_std", std)):
        if len(values) not in (1, channels):
            raise UserError(
                f"config key '{name}' has {len(values)} entries, the pictures have {channels} "
                "channels; give one value or one for each channel"
            )
    normalised = (images.astype(np.float64) / 255 - np.array(mean)) / np.array(std)
    return normalised.transpose(0, 3, 1, 2).astype(np.float32)
