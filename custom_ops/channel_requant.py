"""ChannelRequant: a float-level node for an exact per-channel integer map (merged batch norm)."""

from __future__ import annotations

from typing import Any

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, HardwareOp, SearchRole


class ChannelRequant(HardwareOp):
    """Inputs x [N, C, ...], scale of x ([1] or [C], float64), output scale ([1]); float output.

    ``y = (requant(round(x / in_scale)) - zero_point) * out_scale`` with channels
    on axis 1. It stands in a QONNX graph for batch norm, Relu and Quant behind a convolution; the
    lowering turns it into a StreamRequant.
    """

    role = SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """``shape``: of x."""
        return {
            "requant": ("s", True, ""),
            "zero_point": ("i", False, 0),
            "shape": ("ints", True, []),
        }

    def operands(self) -> tuple[str, ...]:
        """Codes and both scales."""
        return ("x", "in_scale", "out_scale")

    def output_shapes(self) -> list[tuple[int, ...]]:
        """As the input."""
        return [tuple(self.get_nodeattr("shape"))]

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Integer map between the two scales."""
        x, in_scale, out_scale = (np.asarray(context[n], np.float64) for n in self.onnx_node.input)
        codes = np.rint(np.moveaxis(x, 1, -1) / in_scale).astype(np.int64)
        values = (self.requantiser()(codes) - self.get_nodeattr("zero_point")) * out_scale
        context[self.onnx_node.output[0]] = np.moveaxis(values, -1, 1).astype(np.float32)
