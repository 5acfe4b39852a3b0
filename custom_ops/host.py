"""Host nodes: the boundary between the model's tensors and integer codes, run by the driver."""

from __future__ import annotations

from typing import Any

import numpy as np
from qonnx.custom_op.general.intquant import max_int, min_int, resolve_rounding_mode

from finn_resnet.custom_ops.base import (
    AttributeTypes,
    HardwareOp,
    SearchRole,
    to_codes,
    to_container,
)
from finn_resnet.custom_ops.host_steps import read_steps, run_steps, undo_steps
from finn_resnet.numerics.ranges import Range


class QuantizeInput(HardwareOp):
    """The model's input -> integer codes NHWC: preprocessing, then the model's first quantiser."""

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """``shape`` and ``dtype``: of the graph input, NHWC with ``channels_last``; ``steps``: JSON
        of the preprocessing (`host_steps`), whose result is NCHW; ``scale``, ``zero_point`` and so
        on: of the quantiser. Codes that come from outside have scale 1."""
        return {
            "scale": ("f", True, 1.0),
            "zero_point": ("i", False, 0),
            "bits": ("i", True, 8),
            "signed": ("i", True, 1),
            "narrow": ("i", True, 0),
            "bipolar": ("i", False, 0, {0, 1}),
            "rounds_first": ("i", False, 0, {0, 1}),
            "rounding_mode": ("s", False, "ROUND"),
            "shape": ("ints", True, []),
            "codes_shape": ("ints", False, []),
            "channels_last": ("i", False, 0, {0, 1}),
            "dtype": ("s", False, "float32"),
            "steps": ("s", False, ""),
        }

    def code_range(self) -> Range:
        """Range of the codes."""
        signed, narrow, bits, bipolar = self.attrs("signed", "narrow", "bits", "bipolar")
        if bipolar:
            return Range(-1, 1)
        return Range(int(min_int(signed, narrow, bits)), int(max_int(signed, narrow, bits)))

    def quantise(self, pictures: np.ndarray) -> np.ndarray:
        """Codes (int64, NHWC) of a batch of inputs, in float32 as qonnx computes."""
        values = np.asarray(run_steps(read_steps(self.get_nodeattr("steps")), pictures), np.float32)
        zero = np.float32(self.get_nodeattr("zero_point"))
        rounded = resolve_rounding_mode(self.get_nodeattr("rounding_mode"))
        scaled = values / np.float32(self.get_nodeattr("scale"))
        scaled = rounded(scaled) + zero if self.get_nodeattr("rounds_first") else scaled + zero
        bounds = self.code_range()
        if self.get_nodeattr("bipolar"):
            codes = np.where(scaled >= 0, 1, -1)
        else:
            codes = rounded(np.clip(scaled, np.float32(bounds.lo), np.float32(bounds.hi)))
        return np.moveaxis(codes.astype(np.int64), 1, -1)

    def inputs_of(self, codes: np.ndarray) -> np.ndarray:
        """Graph inputs that give codes ``[N, H, W, C]``, which may lie between two codes.

        Raises:
            KeyError: the preprocessing cannot be undone.
        """
        centred = np.moveaxis(codes, -1, 1).astype(np.float32) - self.get_nodeattr("zero_point")
        values = centred * np.float32(self.get_nodeattr("scale"))
        values = undo_steps(read_steps(self.get_nodeattr("steps")), values.astype(np.float32))
        dtype = np.dtype(self.get_nodeattr("dtype"))
        if dtype.kind != "f":
            limits = np.iinfo(dtype)
            values = np.clip(np.rint(values), limits.min, limits.max)
        return values.reshape(len(values), *self.get_nodeattr("shape")[1:]).astype(dtype)

    def output_shapes(self) -> list[tuple[int, ...]]:
        """NHWC shape of the codes."""
        given = self.get_nodeattr("codes_shape")
        if given:
            return [tuple(given)]
        n, c, h, w = self.get_nodeattr("shape")
        return [(n, h, w, c)]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The quantiser's own range."""
        return [self.code_range()]

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Quantise the picture."""
        codes = self.quantise(context[self.onnx_node.input[0]])
        context[self.onnx_node.output[0]] = to_container(codes)


class DequantizeOutput(HardwareOp):
    """Integer codes NHWC -> the original output: float values, then what the model ends with."""

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """``scales`` and ``zero_points``: one, or one per channel; ``shape``: of the dequantised
        tensor in the original, NCHW order or NHWC with ``channels_last``; ``steps``: JSON of what
        follows (`host_steps`), ``output_shape`` and ``output_type`` that of its result."""
        return {
            "scales": ("floats", True, [1.0]),
            "zero_points": ("ints", False, [0]),
            "shape": ("ints", True, []),
            "channels_last": ("i", False, 0, {0, 1}),
            "steps": ("s", False, ""),
            "output_shape": ("ints", False, []),
            "output_type": ("s", False, "float32"),
        }

    def dequantise(self, codes: np.ndarray) -> np.ndarray:
        """Values of codes ``[N, H, W, C]`` in the original's layout, steps applied."""
        centred = codes - np.array(self.get_nodeattr("zero_points"), np.int64)
        values = centred * np.array(self.get_nodeattr("scales"), np.float64)
        if not self.get_nodeattr("channels_last"):
            values = np.moveaxis(values, -1, 1)
        values = values.reshape([len(values), *self.get_nodeattr("shape")[1:]])
        values = run_steps(read_steps(self.get_nodeattr("steps")), values.astype(np.float32))
        return values.astype(self.get_nodeattr("output_type"))

    def output_shapes(self) -> list[tuple[int, ...]]:
        """The original output's shape."""
        return [tuple(self.get_nodeattr("output_shape") or self.get_nodeattr("shape"))]

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Scale the codes back."""
        values = self.dequantise(to_codes(context[self.onnx_node.input[0]]))
        shape = self.output_shapes()[0]
        context[self.onnx_node.output[0]] = values.reshape(shape) if len(values) == 1 else values


class LinearQuant(HardwareOp):
    """A float-level node: QuantizeLinear and DequantizeLinear of ONNX in one.

    ``y = (clip(round(x / scale) + zero, lo, hi) - zero) * scale``. qonnx's Quant adds the
    zero-point before it rounds, which takes ties to the other side where the zero-point is odd.
    """

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """As of qonnx's Quant."""
        return {
            "signed": ("i", True, 1),
            "narrow": ("i", True, 0),
            "rounding_mode": ("s", False, "ROUND"),
        }

    def make_shape_compatible_op(self, model: Any) -> Any:
        """The shape is the input's."""
        from onnx import helper

        return helper.make_node("Identity", self.onnx_node.input[:1], self.onnx_node.output)

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """See class."""
        x, scale, zero, bits = (context[name] for name in self.onnx_node.input)
        signed, narrow = self.attrs("signed", "narrow")
        lo, hi = min_int(signed, narrow, bits), max_int(signed, narrow, bits)
        codes = np.clip(np.round(x / scale) + zero, lo, hi)
        context[self.onnx_node.output[0]] = np.asarray((codes - zero) * scale, np.float32)
