"""The multipliers of a task, counted in its IR and in the cost model."""

from __future__ import annotations

from typing import Any

from finn_resnet.custom_ops import StreamGroupedConv
from finn_resnet.custom_ops.stream_conv import ConvOp
from finn_resnet.parallelism.conv_cost import ConvFactors, conv_dsp
from finn_resnet.parallelism.grouped_conv_cost import (
    GroupedFactors,
    GroupedShape,
    grouped_conv_dsp,
)
from finn_resnet.parallelism.node_shapes import conv_shape
from finn_resnet.schedule_check.ir import Function, Instruction, Loop
from finn_resnet.transformation.graph_edit import convolutions

WIDE_BITS, NARROW_BITS = 27, 18
"""Operands of a DSP48E2's multiplier."""


def expected_multipliers(model: Any) -> dict[str, int]:
    """Multipliers of every convolution by the cost model: DSPs, or products in LUTs."""
    found = {}
    for op in convolutions(model):
        node = op.onnx_node
        dsp = op.get_nodeattr("mac_style") == "dsp"
        found[node.name] = _dsps(model, op) if dsp else op.products()
    return found


def _dsps(model: Any, op: ConvOp) -> int:
    shape, ow_par = conv_shape(model, op.onnx_node), op.get_nodeattr("ow_par")
    if isinstance(op, StreamGroupedConv):
        groups = GroupedShape(shape, op.get_nodeattr("group"))
        return grouped_conv_dsp(groups, GroupedFactors(op.group_par, ow_par))
    return conv_dsp(shape, ConvFactors(*op.attrs("och_par", "ich_par"), ow_par))


def multipliers(function: Function, loop: Loop) -> list[tuple[int, int]]:
    """Operand widths in bits, the wider one first, of every product of two variables."""
    widths = _SignedBits(function)
    found = []
    for block in loop.blocks:
        for i in function.blocks[block].instructions:
            if i.op == "mul" and all(value.startswith("%") for value in i.operands):
                a, b = (high - low for high, low in map(widths.of, i.operands))
                found.append((max(a, b), min(a, b)))
    return found


class _SignedBits:
    """Where values have digits, as signed integers, as far as shifts, extensions and sums tell."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._known: dict[str, tuple[int, int]] = {}

    def of(self, text: str) -> tuple[int, int]:
        """Bits up to the sign, and zeros at the low end (the optimiser shifts operands up).

        What goes round a loop unchanged counts as it came in.
        """
        if not text.startswith("%"):
            return (int(text).bit_length() + 1 if text.lstrip("-").isdigit() else 1), 0
        if text not in self._known:
            self._known[text] = 1, 1
            self._known[text] = self._digits(self._function.defined[text])
        return self._known[text]

    def _digits(self, i: Instruction) -> tuple[int, int]:
        if i.op == "zext":
            # clang also writes so the sign extension of a value it knows not to be negative.
            high, low = self.of(i.operands[0])
            return (high if high < i.bits else i.bits + 1), min(low, i.bits - 1)
        if i.op in ("sext", "freeze", "trunc"):
            high, low = self.of(i.operands[0])
            kept = int(i.text.rsplit(" i", 1)[1]) if i.op == "trunc" else i.bits
            return min(kept, high), min(low, kept - 1)
        if i.op == "shl" and i.operands[1].isdigit():
            high, low = self.of(i.operands[0])
            return min(i.bits, high + int(i.operands[1])), low + int(i.operands[1])
        if i.op == "and" and i.operands[1].lstrip("-").isdigit():
            mask, (high, low) = int(i.operands[1]), self.of(i.operands[0])
            kept = high if mask < 0 else mask.bit_length() + 1
            return kept, max(low, (mask & -mask).bit_length() - 1)
        if i.op in ("ashr", "lshr") and i.operands[1].isdigit():
            high, low = self.of(i.operands[0])
            right = int(i.operands[1])
            return (high if i.op == "ashr" else i.bits + 1) - right, max(low - right, 0)
        if i.op == "phi":
            joined = [self.of(value) for value, _ in i.incoming]
        elif i.op in ("or", "add", "sub", "select"):
            joined = [self.of(value) for value in i.operands[i.op == "select" :]]
        else:
            return i.bits, 0
        high = max(high for high, _ in joined) + (i.op in ("add", "sub"))
        return min(i.bits, high), min(low for _, low in joined)
