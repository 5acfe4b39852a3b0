"""Parameters of Pad and Slice, which older ONNX versions keep as attributes and newer as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.lowering.attributes import attributes


def _placed(node: NodeProto, values: Sequence[np.ndarray], count: int) -> list[np.ndarray | None]:
    """Constant inputs by position, None where the node leaves one out."""
    given = iter(values)
    found = [next(given) if name else None for name in node.input[1:]]
    return [*found, *[None] * count][:count]


def pad_parameters(node: NodeProto, values: Sequence[np.ndarray]) -> tuple[list[int], Fraction]:
    """Pads of four axes as ONNX orders them, and the value.

    Args:
        node: a Pad of a picture.
        values: of its constant inputs, in order.
    """
    attrs = attributes(node)
    if "pads" in attrs:
        return list(attrs["pads"]), Fraction(float(attrs.get("value", 0.0)))
    pads, value, axes = _placed(node, values, 3)
    given = [int(v) for v in np.ravel(pads)]
    full = [0] * 8
    where = [0, 1, 2, 3] if axes is None else [int(a) % 4 for a in np.ravel(axes)]
    for index, axis in enumerate(where):
        full[axis], full[axis + 4] = given[index], given[index + len(where)]
    return full, Fraction(0 if value is None else float(np.ravel(value)[0]))


def slice_parameters(node: NodeProto, values: Sequence[np.ndarray]) -> list[list[int]]:
    """Starts, ends, axes and steps of a Slice; ``values`` as in `pad_parameters`."""
    attrs = attributes(node)
    if "starts" in attrs:
        starts, ends = list(attrs["starts"]), list(attrs["ends"])
        return [starts, ends, list(attrs.get("axes", range(len(starts)))), [1] * len(starts)]
    found = [None if v is None else [int(n) for n in np.ravel(v)] for v in _placed(node, values, 4)]
    starts, ends, axes, steps = found
    return [starts, ends, axes or list(range(len(starts))), steps or [1] * len(starts)]
