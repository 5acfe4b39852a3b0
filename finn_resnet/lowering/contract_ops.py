"""The operators of the supported networks on exact numbers: what the contract computes.

Where the scales of a file are no powers of two, float32 sums depend on their order, so that no
execution in float32 is a reference. The contract (docs/equality.md) is one: integer sums, the
file's float32 constants taken as exact numbers. This module computes one node of it; a batch
norm's factor ``gamma / sqrt(variance + epsilon)`` is the nearest float64 number.

Every operator also says how far float32 may come to lie from it (`ExactTensor.float32_error`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
from onnx import NodeProto

from finn_resnet.custom_ops.window import extract_windows
from finn_resnet.importing.quantiser import Quantiser
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.convolution import Geometry, average_counts, dilated, read_geometry
from finn_resnet.lowering.pick_parameters import pad_parameters, slice_parameters
from finn_resnet.lowering.resize import nearest_index
from finn_resnet.lowering.tensors import Constant
from finn_resnet.numerics.exact_tensor import ExactTensor, fractions
from finn_resnet.numerics.rounding import round_shift

FUNCTION_ROUNDINGS = 8
"""float32 operations of a Sigmoid or the like, generously."""
BATCH_NORM_ROUNDINGS = 8
"""float32 operations on one value of a batch norm, its factor's and offset's own included."""


def quantised_codes(x: ExactTensor, quantiser: Quantiser) -> np.ndarray:
    """Codes (int64) of a quantiser node whose parameters broadcast to ``x``."""
    scale = fractions(quantiser.scale)
    if quantiser.bipolar:
        return np.where(x.sign() >= 0, 1, -1)
    if quantiser.scale.size > 1:
        x, scale = x.scaled(1 / scale), np.array(Fraction(1), object)
    step = scale.item()
    if not quantiser.rounds_first and np.any(quantiser.zero):
        x = x.plus(ExactTensor.constant(fractions(quantiser.zero) * step))
    codes = x.rounded(step, quantiser.rounding)
    if quantiser.rounds_first:
        codes = codes + quantiser.zero
    return np.clip(codes, quantiser.lo, quantiser.hi)


def quantise(x: ExactTensor, quantiser: Quantiser) -> ExactTensor:
    """A quantiser node: ``(codes - zero) * scale``."""
    codes = quantised_codes(x, quantiser)
    return ExactTensor.of(codes - quantiser.zero, fractions(quantiser.scale))


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


def _windows(x: np.ndarray, geometry: Geometry, fill: object) -> np.ndarray:
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
    dilation = tuple(attributes(node).get("dilations", (1, 1)))
    kernel = dilated(weights.codes.transpose(0, 2, 3, 1), dilation).transpose(0, 3, 1, 2)
    geometry = _geometry(node, x, kernel.shape[2:])
    group = int(attributes(node).get("group", 1))
    scale = _scale_per_output(weights, 0).reshape(1, -1, 1, 1)
    codes = kernel.astype(np.float64)
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
    # float64 tells values of different codes apart: of each window the place of the largest.
    place = _flat_windows(x.values, geometry, -np.inf).argmax(axis=3, keepdims=True)

    def picked(values: np.ndarray) -> np.ndarray:
        windows = _flat_windows(values, geometry, _zero_like(values))
        return np.moveaxis(np.take_along_axis(windows, place, axis=3)[:, :, :, 0], -1, 1)

    return x.mapped(picked)


def _flat_windows(x: np.ndarray, geometry: Geometry, fill: object) -> np.ndarray:
    windows = _windows(x, geometry, fill)
    return windows.reshape(*windows.shape[:3], -1, windows.shape[-1])


def _average(x: ExactTensor, geometry: Geometry, counts: np.ndarray | None = None) -> ExactTensor:
    """Sums of windows, divided by ``counts`` ([OH, OW]; by default the kernel's size)."""

    def total(values: np.ndarray) -> np.ndarray:
        return np.moveaxis(_windows(values, geometry, 0).sum(axis=(3, 4)), -1, 1)

    most = geometry.fh * geometry.fw
    summed = _summed_per_channel(x, total, np.array(Fraction(1), object), most)
    divisors = np.full((1, 1), most) if counts is None else counts
    return summed.scaled(1 / fractions(divisors))


def _summed_per_channel(
    x: ExactTensor, total: Callable[[np.ndarray], np.ndarray], share: np.ndarray, count: int
) -> ExactTensor:
    """Sums over pixels, times ``share``."""
    return x.summed(total, share, lambda x: total(x) * float(share.item()), count)


def _average_pool(node: NodeProto, x: ExactTensor) -> ExactTensor:
    geometry = _geometry(node, x, None)
    rows, columns = average_counts(node, geometry)
    return _average(x, geometry, np.outer(rows, columns))


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
    assert isinstance(moving, ExactTensor)  # constants are folded
    return moving.scaled(fractions(factor.values))


def _div(node: NodeProto, a: ExactTensor, b: Constant) -> ExactTensor:
    return a.scaled(1 / fractions(b.values))


def _relu(node: NodeProto, x: ExactTensor) -> ExactTensor:
    return x.selected((x.sign() > 0).astype(np.int64))


def _clipped(x: ExactTensor, low: object, high: object) -> ExactTensor:
    for bound, side in ((low, 1), (high, -1)):
        if bound is not None:
            limit = ExactTensor.constant(fractions(bound))
            inside = (x.plus(limit.scaled(fractions(-1))).sign() * side > 0).astype(np.int64)
            x = x.selected(inside).plus(ExactTensor.of(1 - inside, limit.terms[0].scale))
    return x


def _clip(node: NodeProto, x: ExactTensor, *bounds: Constant) -> ExactTensor:
    attrs = attributes(node)
    given = iter(bounds)
    limits = [next(given).values if name else None for name in node.input[1:]]
    low, high = [*limits, None, None][:2]
    return _clipped(x, attrs.get("min", low), attrs.get("max", high))


def _sloped(x: ExactTensor, slope: np.ndarray) -> ExactTensor:
    positive = (x.sign() > 0).astype(np.int64)
    return x.selected(positive).plus(x.scaled(slope).selected(1 - positive))


def _leaky_relu(node: NodeProto, x: ExactTensor) -> ExactTensor:
    return _sloped(x, fractions(np.float32(attributes(node).get("alpha", 0.01))))


def _hard_sigmoid(node: NodeProto, x: ExactTensor) -> ExactTensor:
    attrs = attributes(node)
    alpha, beta = (np.float32(attrs.get(n, d)) for n, d in (("alpha", 0.2), ("beta", 0.5)))
    line = x.scaled(fractions(alpha)).plus(ExactTensor.constant(fractions(beta)))
    return _clipped(line, 0, 1)


def _through_double(
    function: Callable[[np.ndarray, Mapping[str, float]], np.ndarray], steepest: float = 1.0
) -> Callable[..., ExactTensor]:
    """A function of slope ``steepest`` at most, without an exact form: its float64 value.

    ``function`` takes the values and the node's attributes.
    """

    def run(node: NodeProto, x: ExactTensor) -> ExactTensor:
        attrs = attributes(node)
        out = ExactTensor.constant(fractions(function(x.values, attrs)))
        slope = max(steepest, abs(attrs.get("alpha", 1.0)) * abs(attrs.get("gamma", 1.0)))

        def magnitude() -> np.ndarray:
            return x.magnitude() * slope + np.abs(out.values) + 1

        return ExactTensor(list(out.terms), x.shape, magnitude, x.roundings + FUNCTION_ROUNDINGS)

    return run


def _elu(x: np.ndarray, attrs: Mapping[str, float]) -> np.ndarray:
    return np.where(x > 0, x, np.float32(attrs.get("alpha", 1.0)) * np.expm1(np.minimum(x, 0)))


def _selu(x: np.ndarray, attrs: Mapping[str, float]) -> np.ndarray:
    alpha = attrs.get("alpha", 1.67326319217681884765625)
    return np.float32(attrs.get("gamma", 1.05070102214813232421875)) * _elu(x, {"alpha": alpha})


def _reshaped(node: NodeProto, x: ExactTensor, *shape: Constant) -> ExactTensor:
    """Flatten, Reshape, Squeeze, Unsqueeze; the batch keeps its axis."""
    op, attrs = node.op_type, attributes(node)
    if op == "Reshape":
        dims = [int(v) for v in np.ravel(shape[0].values)]
        dims = [x.shape[i] if d == 0 else d for i, d in enumerate(dims)]
        return x.mapped(lambda values: values.reshape(len(values), *dims[1:]))
    if op == "Flatten" or (op == "Squeeze" and not shape and "axes" not in attrs):
        return x.mapped(lambda values: values.reshape(len(values), -1))
    axes = tuple(int(a) for a in (np.ravel(shape[0].values) if shape else attrs["axes"]))
    change = np.expand_dims if op == "Unsqueeze" else np.squeeze
    kept = tuple(a for a in axes if op == "Unsqueeze" or a % len(x.shape))
    return x.mapped(lambda values: change(values, kept))


def _transpose(node: NodeProto, x: ExactTensor) -> ExactTensor:
    perm = attributes(node).get("perm", range(len(x.shape))[::-1])
    return x.mapped(lambda values: values.transpose(perm))


def _framed(x: ExactTensor, pads: list[int]) -> ExactTensor:
    """Zeros around a tensor; ``pads`` as ONNX orders them."""
    pairs = list(zip(pads[: len(x.shape)], pads[len(x.shape) :], strict=True))
    return x.mapped(lambda values: np.pad(values, pairs, constant_values=_zero_like(values)))


def _zero_like(values: np.ndarray) -> Any:
    # A scale spread over the tensor must stay invertible where the code is 0.
    return Fraction(1) if values.dtype == object else 0


def _pad(node: NodeProto, x: ExactTensor, *parameters: Constant) -> ExactTensor:
    pads, value = pad_parameters(node, [p.values for p in parameters])
    if value:
        raise ValueError("it pads with another value than 0")
    return _framed(x, pads)


def _slice(node: NodeProto, x: ExactTensor, *parameters: Constant) -> ExactTensor:
    picks = [slice(None)] * len(x.shape)
    found = slice_parameters(node, [p.values for p in parameters])
    for start, end, axis, step in zip(*found, strict=True):
        picks[axis] = slice(start, end, step)
    return x.mapped(lambda values: values[tuple(picks)])


def _concat(node: NodeProto, *parts: ExactTensor) -> ExactTensor:
    axis = int(attributes(node)["axis"]) % len(parts[0].shape)
    total, before, result = sum(p.shape[axis] for p in parts), 0, None
    for part in parts:
        pads = [0] * (2 * len(part.shape))
        pads[axis], pads[axis + len(part.shape)] = before, total - before - part.shape[axis]
        framed = _framed(part, pads)
        result = framed if result is None else result.plus(framed)
        before += part.shape[axis]
    return result


def _resize(node: NodeProto, x: ExactTensor, *parameters: Constant) -> ExactTensor:
    sizes = [x.shape[axis] for axis in (2, 3)]
    # Sizes are int64 and whole extents; anything else are scales (or a region nobody reads).
    last = np.ravel(parameters[-1].values)
    whole = (
        last if last.dtype == np.int64 else np.floor(np.array(x.shape) * last.astype(np.float64))
    )
    rows, columns = (
        nearest_index(node, old, int(new)) for old, new in zip(sizes, whole[2:], strict=True)
    )
    return x.mapped(lambda values: values[:, :, rows][:, :, :, columns])


def _trunc(node: NodeProto, x: ExactTensor, *parameters: Constant) -> ExactTensor:
    scale, _, *widths = (Fraction(float(np.ravel(p.values)[0])) for p in parameters)
    whole = x.rounded(scale, "ROUND")
    rounding = attributes(node).get("rounding_mode", b"FLOOR").decode().upper()
    step = scale if len(widths) == 2 else widths[1]
    shift = int(widths[0] - widths[1]) if len(widths) == 2 else round(np.log2(float(step / scale)))
    return ExactTensor.of(round_shift(whole, shift, rounding), step)


OPERATORS: dict[str, Callable[..., ExactTensor]] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Sum": lambda node, *terms: reduce(partial(_add, node), terms),
    "Neg": lambda node, x: x.scaled(fractions(-1)),
    "Relu": _relu,
    "Clip": _clip,
    "LeakyRelu": _leaky_relu,
    "PRelu": lambda node, x, slope: _sloped(x, fractions(slope.values)),
    "HardSigmoid": _hard_sigmoid,
    "Sigmoid": _through_double(lambda x, _: 1 / (1 + np.exp(-x))),
    "Tanh": _through_double(lambda x, _: np.tanh(x)),
    "Softplus": _through_double(lambda x, _: np.logaddexp(x, 0)),
    "Softsign": _through_double(lambda x, _: x / (1 + np.abs(x))),
    "Elu": _through_double(_elu),
    "Selu": _through_double(_selu, 2.0),
    "Conv": _conv,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average,
    "ReduceMean": _reduce_mean,
    "BatchNormalization": _batch_norm,
    "Gemm": _dense,
    "MatMul": _dense,
    "Trunc": _trunc,
    "Transpose": _transpose,
    "Pad": _pad,
    "Slice": _slice,
    "Concat": _concat,
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), _reshaped),
}
"""Exact function of each operator: (node, *inputs) -> output; moving inputs are `ExactTensor`,
parameters `Constant`."""
