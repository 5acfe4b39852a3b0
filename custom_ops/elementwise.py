"""Nodes that keep the picture's shape: fork, residual addition, requantisation, width adapter."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import (
    AttributeTypes,
    HardwareOp,
    Operand,
    SearchRole,
    WriteOrder,
)
from finn_resnet.custom_ops.streams import PictureStream, Stream
from finn_resnet.numerics.ranges import Range

PICTURE: AttributeTypes = {
    "h": ("i", True, 1),
    "w": ("i", True, 1),
    "ch": ("i", True, 1),
}
PARALLEL: AttributeTypes = {"ch_par": ("i", False, 1), "lanes": ("i", False, 1)}


class ElementwiseOp(HardwareOp):
    """Base of the nodes that work on tokens of ``ch_par`` channels in ``lanes`` column lanes.

    Every input and output is the same picture in the same layout unless the op says otherwise.
    """

    extents = ("h", "w", "ch")
    unrolled: ClassVar = {"ch_par": "ch", "lanes": "w"}

    def picture(self) -> PictureStream:
        """The picture in the node's layout."""
        return PictureStream(*self.attrs("h", "w", "ch", "lanes", "ch_par"))

    def input_streams(self) -> tuple[Stream, ...]:
        """The picture, once per input."""
        return (self.picture(),) * len(self.operands())

    def output_streams(self) -> tuple[Stream, ...]:
        """The picture, once per output."""
        return (self.picture(),) * len(self.results())

    @property
    def relays_skip(self) -> bool:
        """A residual branch passes through what has one input and one output."""
        return len(self.operands()) == len(self.results()) == 1

    def total_range(self, *codes: Range) -> Range:
        """Range of what ``requant`` sees, given those of the inputs."""
        return codes[0]


class StreamFork(ElementwiseOp):
    """Copy one stream to several consumers."""

    def attributes(self) -> AttributeTypes:
        """``copies``: number of outputs."""
        return {**PICTURE, **PARALLEL, "copies": ("i", True, 2)}

    def results(self) -> tuple[str, ...]:
        """One for every copy."""
        return tuple(f"out{index}" for index in range(self.get_nodeattr("copies")))

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The input, once per output."""
        return [inputs[0]] * len(self.onnx_node.output)

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]] * len(self.onnx_node.output)


class StreamAdd(ElementwiseOp):
    """Residual addition ``requant(a * (mult_a << shift_a) + b * (mult_b << shift_b))``."""

    a, b = Operand(), Operand()

    def operands(self) -> tuple[str, ...]:
        """Both summands."""
        return ("a", "b")

    def attributes(self) -> AttributeTypes:
        """``mult_*`` (odd, or 1) and ``shift_*`` bring both operands to one grid."""
        return {
            **PICTURE,
            **PARALLEL,
            "mult_a": ("i", False, 1),
            "mult_b": ("i", False, 1),
            "shift_a": ("i", False, 0),
            "shift_b": ("i", False, 0),
            "requant": ("s", False, ""),
            "fused_tensors": ("s", False, ""),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact sum, then requantisation."""
        factor_a, factor_b = self.factors_of_operands()
        return [self.requantiser()(inputs[0] * factor_a + inputs[1] * factor_b)]

    def factors_of_operands(self) -> tuple[int, int]:
        """Whole number each operand is multiplied by."""
        mult_a, mult_b, shift_a, shift_b = self.attrs("mult_a", "mult_b", "shift_a", "shift_b")
        return mult_a << shift_a, mult_b << shift_b

    def total_range(self, *codes: Range) -> Range:
        """Range of the aligned sum before requantisation."""
        a, b = codes
        factor_a, factor_b = self.factors_of_operands()
        return a.times(factor_a).plus(b.times(factor_b))

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised sum."""
        a, b = inputs
        known = a is not None and b is not None
        return [self.requantiser().output_range(self.total_range(a, b)) if known else None]

    def problems(self) -> list[str]:
        """Also: alignment shifts, and multipliers that drop no operand."""
        dropped = [name for name in ("mult_a", "mult_b") if not self.get_nodeattr(name)]
        return [
            *super().problems(),
            *self.check_not_negative("shift_a", "shift_b"),
            *[f"{name} = 0 drops an operand" for name in dropped],
        ]


class StreamRequant(ElementwiseOp):
    """Requantise every code of a stream."""

    def attributes(self) -> AttributeTypes:
        """See class."""
        return {
            **PICTURE,
            **PARALLEL,
            "requant": ("s", True, ""),
            "fused_tensors": ("s", False, ""),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The requantised codes."""
        return [self.requantiser()(inputs[0])]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised codes."""
        return [self.requantiser().output_range(inputs[0]) if inputs[0] is not None else None]


class StreamWidthAdapter(ElementwiseOp):
    """Regroup a stream's channels and columns for a consumer with other unroll factors."""

    role = SearchRole.ADAPTER
    write_order = WriteOrder.LANES_IN_TURN
    unrolled: ClassVar = {
        "in_ch_par": "ch", "out_ch_par": "ch", "in_lanes": "w", "out_lanes": "w"
    }  # fmt: skip

    def attributes(self) -> AttributeTypes:
        """Channel parallelism and lanes on both sides."""
        return {
            **PICTURE,
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

    def input_streams(self) -> tuple[PictureStream]:
        """The picture as it comes."""
        return (PictureStream(*self.attrs("h", "w", "ch", "in_lanes", "in_ch_par")),)

    def output_streams(self) -> tuple[PictureStream]:
        """The picture as it goes."""
        return (PictureStream(*self.attrs("h", "w", "ch", "out_lanes", "out_ch_par")),)
