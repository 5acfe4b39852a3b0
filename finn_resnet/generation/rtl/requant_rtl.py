"""Requantisers as pipelines of the RTL library's stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from finn_resnet.generation.rtl.circuit import Circuit, packed, signed_bits
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import (
    AffineStage,
    Requantiser,
    ShiftStage,
    Stage,
    ThresholdStage,
)

# Rounding modes as `requantise_shift` numbers them.
_MODES = {
    "ROUND": 0,
    "HALF_EVEN": 0,
    "FLOOR": 1,
    "CEIL": 2,
    "UP": 3,
    "DOWN": 4,
    "HALF_UP": 5,
    "HALF_DOWN": 6,
}


@dataclass(frozen=True)
class ChannelEntry:
    """Which channels a requantiser serves: entry ``entry`` of groups of ``par`` channels."""

    channels: int
    par: int
    entry: int

    @property
    def groups(self) -> int:
        """Channel groups."""
        return -(-self.channels // self.par)

    def values(self, table: tuple) -> tuple:
        """The table's value of every group; channels that do not exist take the last one's."""
        if len(table) == 1:
            return table
        numbers = [min(g * self.par + self.entry, self.channels - 1) for g in range(self.groups)]
        picked = tuple(table[number] for number in numbers)
        return picked[:1] if len(set(picked)) == 1 else picked


def rounding_addend(requant: Requantiser) -> int | None:
    """What the first stage adds before it drops digits, None if that depends on the sign.

    A caller that adds it beforehand (`added`) saves the stage an adder.
    """
    if not requant.stages or not isinstance(requant.stages[0], ShiftStage):
        return None
    stage = requant.stages[0]
    mode = _MODES[stage.rounding]
    if stage.shift <= 0 or mode > 2:
        return None
    return (1 << (stage.shift - 1), 0, (1 << stage.shift) - 1)[mode]


def requant_latency(requant: Requantiser, added: bool = False) -> int:
    """Clocks from a value to its code."""
    return sum(_latency(stage, added and n == 0) for n, stage in enumerate(requant.stages))


def _latency(stage: Stage, added: bool) -> int:
    if isinstance(stage, ShiftStage):
        return 1 if added or stage.shift <= 0 or _MODES[stage.rounding] == 1 else 2
    return 4 if isinstance(stage, AffineStage) else _levels(stage) + 1


def _levels(stage: ThresholdStage) -> int:
    return max(len(stage.thresholds[0]).bit_length(), 1)


def requantise(
    circuit: Circuit,
    requant: Requantiser,
    x: str,
    codes: Range,
    channel: ChannelEntry,
    group: Callable[[int], str],
    *,
    added: bool = False,
) -> tuple[str, Range]:
    """Instantiate a requantiser.

    Args:
        circuit: the module it goes to.
        requant: stages.
        x: signed signal of ``signed_bits(codes)`` bits.
        codes: range of ``x``, with the addend if it is ``added`` already.
        channel: which channels pass through.
        group: signal of the channel group, so many clocks after that of ``x``.
        added: `rounding_addend` is in ``x`` already.

    Returns:
        Signal and range of the code, `requant_latency` clocks later; signed bits while the range
        is signed, else unsigned ones.
    """
    late = 0
    for number, stage in enumerate(requant.stages):
        last = number == len(requant.stages) - 1
        out = _output(stage, codes, added and number == 0)
        bits = out.bits if last else signed_bits(out)
        parameters = {"IN_BITS": signed_bits(codes), "OUT_BITS": bits}
        module, more = _stage_module(stage, codes, channel, added and number == 0)
        y = circuit.wire(f"{x}_r", bits)
        connections = {"x": x, "y": y}
        if not isinstance(stage, ShiftStage):
            connections["group"] = group(late) if int(more["GROUPS"]) > 1 else "1'b0"
        circuit.instance(module, f"{y}_stage", parameters | more, connections, "clk")
        late += _latency(stage, added and number == 0)
        x, codes = y, out
    return x, codes


def _output(stage: Stage, codes: Range, added: bool) -> Range:
    if isinstance(stage, ShiftStage) and added:
        # x holds the addend: the digits that stay bound the code, a tie lowers it by one.
        ends = [min(max(end >> stage.shift, stage.lo), stage.hi) for end in codes]
        return Range(max(ends[0] - 1, stage.lo), ends[1])
    return Requantiser((stage,)).output_range(codes)


def _stage_module(
    stage: Stage, codes: Range, channel: ChannelEntry, added: bool
) -> tuple[str, dict[str, int | str]]:
    """Module of a stage, and its parameters beyond the widths."""
    if isinstance(stage, ShiftStage):
        mode = _MODES[stage.rounding]
        bounds = {"LO": stage.lo, "HI": stage.hi}
        return "requantise_shift", {
            **{"SHIFT": stage.shift, "MODE": mode, "ADDED": int(added)},
            **bounds,
        }
    if isinstance(stage, AffineStage):
        return "requantise_affine", _affine(stage, codes, channel)
    return "requantise_threshold", _thresholds(stage, codes, channel)


def _affine(stage: AffineStage, codes: Range, channel: ChannelEntry) -> dict[str, int | str]:
    columns = np.broadcast_arrays(np.array(stage.mult), np.array(stage.add))
    picked = channel.values(tuple(zip(*(array.tolist() for array in columns), strict=True)))
    mult, add = zip(*picked, strict=True)
    sums = [m * x + a for m, a in picked for x in codes]
    products = [m * x for m, _ in picked for x in codes]
    mult_bits = signed_bits(Range(min(mult), max(mult)))
    add_bits = signed_bits(Range(min(add), max(add)))
    return {
        "SUM_BITS": signed_bits(Range(min(*sums, *products), max(*sums, *products))),
        "MULT_BITS": mult_bits,
        "ADD_BITS": add_bits,
        "SHIFT": stage.shift,
        "LO": stage.lo,
        "HI": stage.hi,
        "GROUPS": len(picked),
        "MULT": packed(mult, mult_bits),
        "ADD": packed(add, add_bits),
    }


def _thresholds(stage: ThresholdStage, codes: Range, channel: ChannelEntry) -> dict[str, int | str]:
    count = max(len(stage.sign), len(stage.thresholds))
    rows = stage.thresholds * count if len(stage.thresholds) == 1 else stage.thresholds
    signs = stage.sign * count if len(stage.sign) == 1 else stage.sign
    picked = channel.values(tuple(zip(signs, rows, strict=True)))
    levels, bits = _levels(stage), signed_bits(codes)
    # One more than any x, and the least x: what lies beyond is never, or always, reached.
    least, above = -(1 << (bits - 1)), (1 << (bits - 1)) + 1
    words: list[int] = []
    for _, row in picked:
        words += [min(max(t, least), above) for t in row]
        words += [above] * ((1 << levels) - 1 - len(row))
    return {
        "LEVELS": levels,
        "BASE": stage.base,
        "GROUPS": len(picked),
        "NEGATE": packed((int(sign < 0) for sign, _ in picked), 1),
        "THRESHOLDS": packed(words, bits + 1),
    }
