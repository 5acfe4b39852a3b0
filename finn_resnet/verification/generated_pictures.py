"""Pictures made to reach what photographs do not.

Ends of ranges, ties, single channels, and patches that saturate the first convolutions.

They are made in input codes, from the lowest to the highest the first quantiser has (negative ones
included), and handed on as the float pictures that give these codes.
"""

from __future__ import annotations

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import to_codes
from finn_resnet.custom_ops.stream_conv import StreamConv
from finn_resnet.numerics.ranges import Range
from finn_resnet.transformation.graph_edit import as_op, nodes_of

SINGLE_CHANNELS = 8
"""Most channels that get a picture of their own."""
SATURATED_OUTPUTS = 4
"""Output channels of a first convolution that are driven to both ends."""
MOST_RAMPS = 4
"""Pictures that count through the codes, where one is too small for all."""
NOISE = 6
"""Pictures of noise."""


def generated_pictures(model: ModelWrapper) -> np.ndarray:
    """float32 [N, C, H, W] for a hardware graph, the same in every run."""
    host = as_op(nodes_of(model, "QuantizeInput")[0])
    bounds, shape = host.code_range(), host.output_shapes()[0][1:]
    rng = np.random.default_rng(11)
    codes = [
        *_plain(bounds, shape),
        *_single_channels(bounds, shape),
        *_saturating(model, bounds, shape),
        *_noise(rng, bounds, shape),
    ]
    pictures = np.stack(codes).astype(np.float32)
    ties = (rng.integers(bounds.lo, bounds.hi + 1, (1, *shape)) + 0.5).astype(np.float32)
    beyond = rng.choice([2.0 * bounds.lo - 5, 2.0 * bounds.hi + 5], (1, *shape))
    pictures = np.concatenate([pictures, ties, beyond.astype(np.float32)])
    try:
        return host.inputs_of(pictures)
    except KeyError:
        # Preprocessing that cannot be undone: photographs and noise have to do.
        return np.zeros((0, *host.get_nodeattr("shape")[1:]), host.get_nodeattr("dtype"))


def _plain(bounds: Range, shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Constants, a checkerboard, columns and rows, and every code in order."""
    lo, hi = bounds
    rows, columns, channels = np.indices(shape)
    size, count = int(np.prod(shape)), hi - lo + 1
    ramps = [
        lo + np.arange(first, first + size).reshape(shape) % count
        for first in range(0, min(count, MOST_RAMPS * size), size)
    ]
    return [
        np.full(shape, lo),
        np.full(shape, hi),
        np.where((rows + columns + channels) % 2, lo, hi),
        np.where(columns % 2, lo, hi),
        np.where(rows % 2, lo, hi),
        *ramps,
    ]


def _single_channels(bounds: Range, shape: tuple[int, int, int]) -> list[np.ndarray]:
    """One channel at one end, the others at zero or, without a zero, at the lowest code."""
    rest = min(max(bounds.lo, 0), bounds.hi)
    pictures = []
    for channel in range(min(shape[2], SINGLE_CHANNELS)):
        for end in {bounds.lo, bounds.hi} - {rest}:
            picture = np.full(shape, rest)
            picture[:, :, channel] = end
            pictures.append(picture)
    return pictures


def _saturating(
    model: ModelWrapper, bounds: Range, shape: tuple[int, int, int]
) -> list[np.ndarray]:
    """For convolutions of the input's shape: the picture whose windows give the largest and the
    smallest sum of one output channel, repeated all over.
    """
    pictures: list[np.ndarray] = []
    for node in nodes_of(model, "StreamConv"):
        op: StreamConv = as_op(node)
        if op.attrs("ih", "iw", "ich") != shape or pictures:
            continue
        stream = model.find_producer(node.input[1])
        weights = to_codes(model.get_initializer(stream.input[0]))
        pads = op.get_nodeattr("pads")
        for kernel in weights[:SATURATED_OUTPUTS]:
            for largest in (True, False):
                wanted = np.where((kernel > 0) == largest, bounds.hi, bounds.lo)
                pictures.append(_tiled(wanted, shape, pads))
    return pictures


def _tiled(patch: np.ndarray, shape: tuple[int, int, int], pads: list[int]) -> np.ndarray:
    """``patch`` [fh, fw, C] over a picture, in phase with the windows of a padded convolution."""
    rows = (np.arange(shape[0]) + pads[0]) % patch.shape[0]
    columns = (np.arange(shape[1]) + pads[1]) % patch.shape[1]
    return patch[rows[:, None], columns[None, :]]


def _noise(
    rng: np.random.Generator, bounds: Range, shape: tuple[int, int, int]
) -> list[np.ndarray]:
    """Uniform noise of shrinking contrast, around both ends and the middle."""
    lo, hi = bounds
    pictures = []
    for index in range(NOISE):
        span = max((hi - lo) >> index, 1)
        start = (lo, hi - span, (lo + hi - span) // 2)[index % 3]
        pictures.append(rng.integers(start, start + span + 1, shape))
    return pictures
