"""The operators of the supported networks on exact numbers: what the contract computes.

Where the scales of a file are no powers of two, float32 sums depend on their order, so that no
execution in float32 is a reference. The contract (docs/equality.md) is one: integer sums, the
file's float32 constants taken as exact numbers. This module computes one node of it; a batch
norm's factor ``gamma / sqrt(variance + epsilon)`` is the nearest float64 number.

Every operator also says how far float32 may come to lie from it (`ExactTensor.float32_error`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.custom_ops.window import extract_windows
from finn_resnet.importing.quantiser import Quantiser
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.convolution import Geometry, read_geometry
from finn_resnet.lowering.tensors import Constant
from finn_resnet.numerics.exact_tensor import ExactTensor, fractions

BATCH_NORM_ROUNDINGS = 8
"""float32 operations on one value of a batch norm, its factor's and offset's own included."""


def quantise(x: ExactTensor, quantiser: Quantiser) -> ExactTensor:
    """A Quant node with one scale: codes ``clip(round(x / scale))``, times the scale."""
    step, bounds = Fraction(float(quantiser.scale)), quantiser.range
    codes = np.clip(x.rounded(step, quantiser.rounding), bounds.lo, bounds.hi)
    return ExactTensor.of(codes, step)


def run_node(node: NodeProto, inputs: list[ExactTensor | Constant]) -> ExactTensor:
    """Execute one node on exact numbers.

    Raises:
        KeyError: the operator has no exact form here.
        ValueError: its operands have none (`ExactTensor.summed`).
    """
    return OPERATORS[node.op_type](node, *inputs)


def _geometry(node: NodeProto, x: ExactTensor, kernel: tuple[int, int] | None) -> Geometry:
    channels, height, width = x.shape[1:]
    return read_geometry(node, (height, width, channels), kernel)


def _windows(x: np.ndarray, geometry: Geometry, fill: float) -> np.ndarray:
    """[N, C, H, W] -> [N, OH, OW, fh, fw, C]."""
    kernel = (geometry.fh, geometry.fw)
    x = np.moveaxis(x, 1, -1)
    return extract_windows(x, kernel, geometry.stride, geometry.pads, fill)


def _products(x: np.ndarray, weights: np.ndarray, geometry: Geometry, group: int) -> np.ndarray:
    """Convolution in float64; exact for integers below 2^53."""
    outputs = []
    for part, kernel in zip(np.split(x, group, axis=1), np.split(weights, group), strict=True):
        windows = _windows(part.astype(np.float64), geometry, 0)
        flat = windows.reshape(*windows.shape[:3], -1)
        outputs.append(flat @ kernel.transpose(2, 3, 1, 0).reshape(-1, len(kernel)))
    return np.moveaxis(np.concatenate(outputs, axis=-1), -1, 1)


def _scale_per_output(weights: Constant, axis: int) -> np.ndarray:
    """Scales of weights whose outputs lie on ``axis``, as ONNX broadcasts them.

    Fractions [outputs], or [1] where all are equal.
    """
    scale = np.moveaxis(np.broadcast_to(weights.scale, weights.codes.shape), axis, 0)
    scale = scale.reshape(len(scale), -1)
    if np.any(scale != scale[:, :1]):
        raise ValueError("the weight scale varies within an output channel")
    return fractions(scale[:1, 0] if np.all(scale == scale[0, 0]) else scale[:, 0])


def _conv(node: NodeProto, x: ExactTensor, weights: Constant, *bias: Constant) -> ExactTensor:
    geometry = _geometry(node, x, weights.codes.shape[2:])
    group = int(attributes(node).get("group", 1))
    scale = _scale_per_output(weights, 0).reshape(1, -1, 1, 1)
    codes = weights.codes.astype(np.float64)
    sizes = np.abs(codes * scale.astype(np.float64).reshape(-1, 1, 1, 1))
    out = x.summed(
        lambda x: _products(x, codes, geometry, group).astype(np.int64),
        scale,
        lambda x: _products(x, sizes, geometry, group),
        weights.codes[0].size,
    )
    return out.plus(_constant(bias[0], (1, -1, 1, 1))) if bias else out


def _dense(node: NodeProto, x: ExactTensor, weights: Constant, *bias: Constant) -> ExactTensor:
    transposed = bool(attributes(node).get("transB", 0))
    codes = (weights.codes.T if transposed else weights.codes).astype(np.float64)
    scale = _scale_per_output(weights, 0 if transposed else 1)
    sizes = np.abs(codes * scale.astype(np.float64))
    out = x.summed(
        lambda x: (x.astype(np.float64) @ codes).astype(np.int64),
        scale,
        lambda x: x @ sizes,
        len(codes),
    )
    return out.plus(_constant(bias[0])) if bias else out


def _constant(constant: Constant, shape: tuple[int, ...] | None = None) -> ExactTensor:
    values = np.asarray(constant.values)
    return ExactTensor.constant(fractions(values if shape is None else values.reshape(shape)))


def _max_pool(node: NodeProto, x: ExactTensor) -> ExactTensor:
    geometry = _geometry(node, x, None)
    scale = x.terms[0].scale
    codes = x.integers(scale)
    per_channel = scale.size == 1 or scale.shape[2:] == (1, 1)
    if not per_channel or any(value <= 0 for value in scale.flat):
        raise ValueError("a maximum over values of different scales")
    largest = _windows(codes, geometry, int(codes.min())).max(axis=(3, 4))
    return ExactTensor.of(np.moveaxis(largest, -1, 1), scale)


def _average(x: ExactTensor, geometry: Geometry) -> ExactTensor:
    def total(values: np.ndarray) -> np.ndarray:
        return np.moveaxis(_windows(values, geometry, 0).sum(axis=(3, 4)), -1, 1)

    count = geometry.fh * geometry.fw
    share = np.array(Fraction(1, count), object)
    return _summed_per_channel(x, total, share, count)


def _summed_per_channel(
    x: ExactTensor, total: Callable[[np.ndarray], np.ndarray], share: np.ndarray, count: int
) -> ExactTensor:
    """Sums over pixels, times ``share``."""
    return x.summed(total, share, lambda x: total(x) * float(share.item()), count)


def _average_pool(node: NodeProto, x: ExactTensor) -> ExactTensor:
    return _average(x, _geometry(node, x, None))


def _global_average(node: NodeProto, x: ExactTensor) -> ExactTensor:
    height, width = x.shape[2:]
    return _average(x, Geometry(height, width, height, width, (1, 1), (0, 0, 0, 0)))


def _reduce_mean(node: NodeProto, x: ExactTensor, *axes: Constant) -> ExactTensor:
    attrs = attributes(node)
    axis = tuple(int(a) for a in (axes[0].values if axes else attrs["axes"]))
    count = int(np.prod([x.shape[a] for a in axis]))
    kept = bool(attrs.get("keepdims", 1))

    def total(values: np.ndarray) -> np.ndarray:
        return values.sum(axis=axis, keepdims=kept)

    return _summed_per_channel(x, total, np.array(Fraction(1, count), object), count)


def _batch_norm(node: NodeProto, x: ExactTensor, *parameters: Constant) -> ExactTensor:
    shape = (1, -1) + (1,) * (len(x.shape) - 2)
    gamma, beta, mean, variance = (
        np.asarray(p.values, np.float64).reshape(shape) for p in parameters
    )
    epsilon = attributes(node).get("epsilon", 1e-5)
    factor = fractions(gamma / np.sqrt(variance + epsilon))
    shift = ExactTensor.constant(-fractions(mean) * factor)
    out = x.scaled(factor).plus(shift).plus(ExactTensor.constant(fractions(beta)))
    out.roundings = x.roundings + BATCH_NORM_ROUNDINGS
    return out


def _add(node: NodeProto, a: ExactTensor | Constant, b: ExactTensor | Constant) -> ExactTensor:
    a, b = (_constant(x) if isinstance(x, Constant) else x for x in (a, b))
    return a.plus(b)


def _sub(node: NodeProto, a: ExactTensor | Constant, b: ExactTensor | Constant) -> ExactTensor:
    a, b = (_constant(x) if isinstance(x, Constant) else x for x in (a, b))
    return a.plus(b.scaled(fractions(-1)))


def _mul(node: NodeProto, a: ExactTensor | Constant, b: ExactTensor | Constant) -> ExactTensor:
    moving, factor = (b, a) if isinstance(a, Constant) else (a, b)
    return moving.scaled(fractions(factor.values))


def _div(node: NodeProto, a: ExactTensor, b: Constant) -> ExactTensor:
    return a.scaled(1 / fractions(b.values))


def _relu(node: NodeProto, x: ExactTensor) -> ExactTensor:
    return x.selected((x.sign() > 0).astype(np.int64))


def _flatten(node: NodeProto, x: ExactTensor, *shape: Constant) -> ExactTensor:
    if node.op_type == "Reshape" and np.size(shape[0].values) == len(x.shape):
        return x
    return x.mapped(lambda values: values.reshape(len(values), -1))


OPERATORS: dict[str, Callable[..., ExactTensor]] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Relu": _relu,
    "Conv": _conv,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average,
    "ReduceMean": _reduce_mean,
    "BatchNormalization": _batch_norm,
    "Gemm": _dense,
    "MatMul": _dense,
    "Flatten": _flatten,
    "Reshape": _flatten,
    "Squeeze": _flatten,
}
"""Exact function of each operator: (node, *inputs) -> output; moving inputs are `ExactTensor`,
parameters `Constant`. Shapes after Flatten, Reshape and Squeeze are [N, features] or unchanged: the
only forms the lowering accepts them in."""
