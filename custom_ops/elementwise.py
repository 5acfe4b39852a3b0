"""Nodes that keep the picture's shape: fork, residual addition, requantisation, width adapter."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, HardwareOp
from finn_resnet.numerics.ranges import Range

_PICTURE: AttributeTypes = {
    "h": ("i", True, 1),
    "w": ("i", True, 1),
    "ch": ("i", True, 1),
}
_PARALLEL: AttributeTypes = {"ch_par": ("i", False, 1), "lanes": ("i", False, 1)}


class ElementwiseOp(HardwareOp):
    """Base of the nodes that work on tokens of ``ch_par`` channels in ``lanes`` column lanes."""

    def output_shapes(self) -> list[tuple[int, ...]]:
        """The picture, once per output."""
        return [(1, *self.attrs("h", "w", "ch"))] * len(self.onnx_node.output)

    def problems(self) -> list[str]:
        """Extents and unroll factors."""
        return [
            *self.check_positive("h", "w", "ch"),
            *self.check_parallel("ch_par", "ch"),
            *self.check_parallel("lanes", "w"),
        ]


class StreamFork(ElementwiseOp):
    """Copy one stream to several consumers."""

    def attributes(self) -> AttributeTypes:
        """``copies``: number of outputs."""
        return {**_PICTURE, **_PARALLEL, "copies": ("i", True, 2)}

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The input, once per output."""
        return [inputs[0]] * len(self.onnx_node.output)

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]] * len(self.onnx_node.output)

    def problems(self) -> list[str]:
        """Also: ``copies`` must be the number of outputs."""
        copies, outputs = self.get_nodeattr("copies"), len(self.onnx_node.output)
        wrong = [] if copies == outputs else [f"copies = {copies} but the node has {outputs}"]
        return super().problems() + wrong


class StreamAdd(ElementwiseOp):
    """Residual addition ``requant((a << shift_a) + (b << shift_b))``."""

    def attributes(self) -> AttributeTypes:
        """``shift_a``/``shift_b`` align both operands to the finer scale."""
        return {
            **_PICTURE,
            **_PARALLEL,
            "shift_a": ("i", False, 0),
            "shift_b": ("i", False, 0),
            "requant": ("s", False, ""),
            "fused_tensors": ("s", False, ""),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact sum, then requantisation."""
        shift_a, shift_b = self.attrs("shift_a", "shift_b")
        return [self.requantiser()((inputs[0] << shift_a) + (inputs[1] << shift_b))]

    def total_range(self, a: Range, b: Range) -> Range:
        """Range of the aligned sum before requantisation."""
        return a.shifted(self.get_nodeattr("shift_a")).plus(b.shifted(self.get_nodeattr("shift_b")))

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised sum."""
        a, b = inputs
        known = a is not None and b is not None
        return [self.requantiser().output_range(self.total_range(a, b)) if known else None]

    def problems(self) -> list[str]:
        """Also: alignment shifts and requantiser."""
        return [
            *super().problems(),
            *[
                f"{name} = {self.get_nodeattr(name)} must not be negative"
                for name in ("shift_a", "shift_b")
                if self.get_nodeattr(name) < 0
            ],
            *self.check_requantiser("requant"),
        ]


class StreamRequant(ElementwiseOp):
    """Requantise every code of a stream."""

    def attributes(self) -> AttributeTypes:
        """See class."""
        return {
            **_PICTURE,
            **_PARALLEL,
            "requant": ("s", True, ""),
            "fused_tensors": ("s", False, ""),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The requantised codes."""
        return [self.requantiser()(inputs[0])]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised codes."""
        return [self.requantiser().output_range(inputs[0]) if inputs[0] is not None else None]

    def problems(self) -> list[str]:
        """Also: the requantiser."""
        return super().problems() + self.check_requantiser("requant")


class StreamWidthAdapter(ElementwiseOp):
    """Regroup a stream's channels and columns for a consumer with other unroll factors."""

    def attributes(self) -> AttributeTypes:
        """Channel parallelism and lanes on both sides."""
        return {
            **_PICTURE,
            "in_ch_par": ("i", True, 1),
            "in_lanes": ("i", True, 1),
            "out_ch_par": ("i", True, 1),
            "out_lanes": ("i", True, 1),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The same codes."""
        return [inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]]

    def problems(self) -> list[str]:
        """Extents and unroll factors on both sides."""
        return [
            *self.check_positive("h", "w", "ch"),
            *self.check_parallel("in_ch_par", "ch"),
            *self.check_parallel("out_ch_par", "ch"),
            *self.check_parallel("in_lanes", "w"),
            *self.check_parallel("out_lanes", "w"),
        ]
