"""Host nodes: the boundary between float tensors and integer codes, run by the driver."""

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
from finn_resnet.numerics.ranges import Range


class QuantizeInput(HardwareOp):
    """Float NCHW picture -> integer codes NHWC, as the model's first Quant node does."""

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """See class."""
        return {
            "scale": ("f", True, 1.0),
            "bits": ("i", True, 8),
            "signed": ("i", True, 1),
            "narrow": ("i", True, 0),
            "rounding_mode": ("s", False, "ROUND"),
            "shape": ("ints", True, []),
        }

    def code_range(self) -> Range:
        """Range of the codes."""
        signed, narrow, bits = self.attrs("signed", "narrow", "bits")
        return Range(min_int(signed, narrow, bits), max_int(signed, narrow, bits))

    def quantise(self, picture: np.ndarray) -> np.ndarray:
        """Codes (int64, NHWC) of float pictures ``[N, C, H, W]``, in float32 as qonnx computes."""
        bounds = self.code_range()
        scaled = np.asarray(picture, np.float32) / np.float32(self.get_nodeattr("scale"))
        clipped = np.clip(scaled, np.float32(bounds.lo), np.float32(bounds.hi))
        rounded = resolve_rounding_mode(self.get_nodeattr("rounding_mode"))(clipped)
        return np.moveaxis(rounded.astype(np.int64), 1, -1)

    def output_shapes(self) -> list[tuple[int, ...]]:
        """NHWC shape of ``shape`` (NCHW)."""
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
    """Integer codes NHWC -> float tensor of the original output's shape."""

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """``scales``: one, or one per channel; ``shape``: of the original output."""
        return {"scales": ("floats", True, [1.0]), "shape": ("ints", True, [])}

    def dequantise(self, codes: np.ndarray) -> np.ndarray:
        """Float32 values of codes ``[N, H, W, C]``, channels first, before any reshape."""
        values = codes * np.array(self.get_nodeattr("scales"), np.float64)
        return np.moveaxis(values, -1, 1).astype(np.float32)

    def output_shapes(self) -> list[tuple[int, ...]]:
        """The original output's shape."""
        return [tuple(self.get_nodeattr("shape"))]

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Scale the codes back."""
        values = self.dequantise(to_codes(context[self.onnx_node.input[0]]))
        shape = self.get_nodeattr("shape")
        context[self.onnx_node.output[0]] = values.reshape([len(values), *shape[1:]])
