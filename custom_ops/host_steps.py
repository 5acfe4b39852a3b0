"""What the processor computes before the accelerator and after it: a list of NumPy steps.

A step is a dictionary as JSON holds it: ``op`` and the parameters of its function here. This file
needs NumPy alone: the driver carries a copy of it to the board. Arithmetic is float32, as ONNX
computes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Step = Mapping[str, Any]


def read_steps(text: str) -> list[dict[str, Any]]:
    """Steps of an attribute; the empty string is no step."""
    return json.loads(text) if text else []


def run_steps(steps: Sequence[Step], values: np.ndarray) -> np.ndarray:
    """Apply steps in order to a batch; ``values`` has the batch on axis 0."""
    for step in steps:
        parameters = {key: value for key, value in step.items() if key != "op"}
        values = FUNCTIONS[step["op"]](values, **parameters)
    return values


def undo_steps(steps: Sequence[Step], values: np.ndarray) -> np.ndarray:
    """A batch that preprocessing ``steps`` turn into ``values``, as near as float32 has one.

    Raises:
        KeyError: a step cannot be undone.
    """
    for step in reversed(steps):
        parameters = {key: value for key, value in step.items() if key != "op"}
        values = _INVERSES[step["op"]](values, **parameters)
    return values


_INVERSES: dict[str, Callable[..., np.ndarray]] = {
    "Add": lambda x, value: x - _float32(value),
    "Sub": lambda x, value: x + _float32(value),
    "SubFrom": lambda x, value: _float32(value) - x,
    "Mul": lambda x, value: x / _float32(value),
    "Div": lambda x, value: x * _float32(value),
    "Transpose": lambda x, perm: x.transpose(np.argsort(perm)),
    "Cast": lambda x, dtype: x,
}


def _float32(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def _log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return _float32(1) / (_float32(1) + np.exp(-x))


def _extreme(x: np.ndarray, axis: int, keepdims: bool, last: bool, sign: int) -> np.ndarray:
    if last:
        found = x.shape[axis] - 1 - np.argmax(np.flip(sign * x, axis), axis)
    else:
        found = np.argmax(sign * x, axis)
    return (np.expand_dims(found, axis) if keepdims else found).astype(np.int64)


def _top_k(x: np.ndarray, k: int, axis: int, largest: bool, indices: bool) -> np.ndarray:
    # Stable, so that of equal values the one with the lower index comes first.
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    kept = np.take(order, range(k), axis=axis)
    return kept if indices else np.take_along_axis(x, kept, axis)


def _quantise(
    x: np.ndarray, scale: Any, zero: Any, lo: int, hi: int, dtype: str, axis: int = 0
) -> np.ndarray:
    """ONNX's QuantizeLinear."""
    codes = np.round(x / _float32(scale)) + _float32(zero)
    return np.clip(codes, lo, hi).astype(dtype)


def _dequantise(x: np.ndarray, scale: Any, zero: Any) -> np.ndarray:
    return (x.astype(np.int64) - np.asarray(zero, np.int64)).astype(np.float32) * _float32(scale)


def _clip(x: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    x = x if low is None else np.maximum(x, _float32(low))
    return x if high is None else np.minimum(x, _float32(high))


FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "Add": lambda x, value: x + _float32(value),
    "Sub": lambda x, value: x - _float32(value),
    "SubFrom": lambda x, value: _float32(value) - x,
    "Mul": lambda x, value: x * _float32(value),
    "Div": lambda x, value: x / _float32(value),
    "Relu": lambda x: np.maximum(x, 0),
    "Clip": _clip,
    "LeakyRelu": lambda x, alpha: np.where(x < 0, x * _float32(alpha), x),
    "Sigmoid": _sigmoid,
    "Tanh": np.tanh,
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "ArgMax": lambda x, axis, keepdims, last: _extreme(x, axis, keepdims, last, 1),
    "ArgMin": lambda x, axis, keepdims, last: _extreme(x, axis, keepdims, last, -1),
    "TopK": _top_k,
    "Transpose": lambda x, perm: x.transpose(perm),
    "Reshape": lambda x, shape: x.reshape(len(x), *shape),
    "Cast": lambda x, dtype: x.astype(dtype),
    "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise,
}
"""Function of each step: values [N, ...] and the step's parameters to values."""
