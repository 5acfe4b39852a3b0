"""The operators of the supported networks in float64.

Where float32 sums are not exact (scales that are no powers of two, long accumulations) the
reference is the same graph in float64. This module computes one node of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import NodeProto, helper
from qonnx.custom_op.general.intquant import int_quant

from finn_resnet.custom_ops.window import extract_windows


def attributes(node: NodeProto) -> dict[str, object]:
    """Attributes of a node as Python values."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _windows(x: np.ndarray, attrs: dict, fill: float) -> np.ndarray:
    """[N, C, H, W] -> [N, OH, OW, fh, fw, C]."""
    pads = list(attrs.get("pads", [0, 0, 0, 0]))
    strides = list(attrs.get("strides", [1, 1]))
    return extract_windows(np.moveaxis(x, 1, -1), tuple(attrs["kernel_shape"]), strides, pads, fill)


def _conv(node: NodeProto, x: np.ndarray, w: np.ndarray, *bias: np.ndarray) -> np.ndarray:
    attrs = {"kernel_shape": w.shape[2:], **attributes(node)}
    windows = _windows(x, attrs, 0)
    flat = windows.reshape(*windows.shape[:3], -1)
    out = flat @ w.transpose(2, 3, 1, 0).reshape(-1, len(w))
    out = np.moveaxis(out, -1, 1)
    return out + bias[0].reshape(1, -1, 1, 1) if bias else out


def _max_pool(node: NodeProto, x: np.ndarray) -> np.ndarray:
    windows = _windows(x, attributes(node), -np.inf)
    return np.moveaxis(windows.max(axis=(3, 4)), -1, 1)


def _average_pool(node: NodeProto, x: np.ndarray) -> np.ndarray:
    return np.moveaxis(_windows(x, attributes(node), 0).mean(axis=(3, 4)), -1, 1)


def _reduce_mean(node: NodeProto, x: np.ndarray, *axes: np.ndarray) -> np.ndarray:
    attrs = attributes(node)
    axis = tuple(int(a) for a in (axes[0] if axes else attrs["axes"]))
    return x.mean(axis=axis, keepdims=bool(attrs.get("keepdims", 1)))


def _batch_norm(
    node: NodeProto, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *moments: np.ndarray
) -> np.ndarray:
    mean, variance = moments
    epsilon = attributes(node).get("epsilon", 1e-5)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    factor = (gamma / np.sqrt(variance + epsilon)).reshape(shape)
    return (x - mean.reshape(shape)) * factor + beta.reshape(shape)


def _gemm(node: NodeProto, a: np.ndarray, b: np.ndarray, *c: np.ndarray) -> np.ndarray:
    out = a @ (b.T if attributes(node).get("transB", 0) else b)
    return out + c[0] if c else out


def _quant(
    node: NodeProto, x: np.ndarray, scale: np.ndarray, zero: np.ndarray, bits: np.ndarray
) -> np.ndarray:
    attrs = attributes(node)
    rounding = attrs.get("rounding_mode", b"ROUND").decode()
    width = np.float64(np.ravel(bits)[0])
    return int_quant(x, scale, zero, width, attrs["signed"], attrs["narrow"], rounding)


def _flatten(node: NodeProto, x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


OPERATORS: dict[str, Callable[..., np.ndarray]] = {
    "Add": lambda node, a, b: a + b,
    "Sub": lambda node, a, b: a - b,
    "Mul": lambda node, a, b: a * b,
    "Div": lambda node, a, b: a / b,
    "Relu": lambda node, x: np.maximum(x, 0),
    "Conv": _conv,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": lambda node, x: x.mean(axis=(2, 3), keepdims=True),
    "ReduceMean": _reduce_mean,
    "BatchNormalization": _batch_norm,
    "Gemm": _gemm,
    "MatMul": lambda node, a, b: a @ b,
    "Quant": _quant,
    "IntQuant": _quant,
    "Flatten": _flatten,
    "Reshape": lambda node, x, *shape: _flatten(node, x),
    "Squeeze": lambda node, x, *axes: _flatten(node, x),
}
"""float64 function of each operator: (node, *inputs) -> output. Shapes after Flatten, Reshape and
Squeeze are [N, features]: the only form the lowering accepts them in."""


def run_node(node: NodeProto, inputs: list[np.ndarray]) -> np.ndarray:
    """Execute one node in float64."""
    return OPERATORS[node.op_type](node, *(np.asarray(x, np.float64) for x in inputs))
