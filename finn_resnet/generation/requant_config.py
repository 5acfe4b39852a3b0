"""C++ form of a requantiser: a list of stage types with exact widths."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from finn_resnet.generation.cpp import array_range, braces, constant_type, grouped, signed_bits
from finn_resnet.generation.cpp import table_type as cpp_table_type
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import (
    AffineStage,
    Requantiser,
    ShiftStage,
    ThresholdStage,
)

_ROUNDING = {"ROUND": "half_even", "HALF_EVEN": "half_even"}


@dataclass(frozen=True)
class RequantConfig:
    """``type_name`` is the C++ type; ``structs`` are the stage structs it needs, in order."""

    type_name: str
    structs: list[str] = field(default_factory=list)


def requant_config(
    requantiser: Requantiser, inputs: Range, name: str, channels: int, entries: int
) -> RequantConfig:
    """C++ of ``requantiser`` for inputs in a range.

    Args:
        requantiser: the map.
        inputs: range of its input.
        name: prefix of the stage structs, a C identifier.
        channels: number of channels of the tensor.
        entries: channels one iteration handles (``och_par`` or ``ch_par``).
    """
    types, structs = [], []
    for index, stage in enumerate(requantiser.stages):
        struct = f"{name}_stage{index}"
        if isinstance(stage, ShiftStage):
            types.append(_shift_type(stage, inputs))
        elif isinstance(stage, AffineStage):
            structs.append(_affine_struct(stage, inputs, struct, channels, entries))
            types.append(f"fr::affine_stage<{struct}>")
        else:
            structs.append(_threshold_struct(stage, inputs, struct, channels, entries))
            types.append(f"fr::threshold_stage<{struct}>")
        inputs = Requantiser((stage,)).output_range(inputs)
    return RequantConfig(f"fr::requantiser<{', '.join(types)}>", structs)


def _shift_type(stage: ShiftStage, inputs: Range) -> str:
    mode = _ROUNDING.get(stage.rounding, stage.rounding.lower())
    out_bits = signed_bits(Range(stage.lo, stage.hi))
    return (
        f"fr::shift_stage<{signed_bits(inputs)}, {out_bits}, {stage.shift}, "
        f"fr::rounding::{mode}, {stage.lo}, {stage.hi}>"
    )


def _channel_table(values: tuple[int, ...], channels: int, entries: int) -> np.ndarray:
    """``[groups, entries]``, or ``[1, 1]`` when one value serves all channels."""
    if len(set(values)) == 1:
        return np.array([[values[0]]], np.int64)
    if len(values) != channels:
        raise ValueError(f"{len(values)} per-channel values for {channels} channels")
    return grouped(values, entries)


def _affine_struct(
    stage: AffineStage, inputs: Range, struct: str, channels: int, entries: int
) -> str:
    mult = _channel_table(stage.mult, channels, entries)
    add = _channel_table(stage.add, channels, entries)
    factors, offsets = array_range(mult), array_range(add)
    products = [x * m for x in inputs for m in factors]
    product = Range(min(products), max(products))
    total = product.plus(offsets).including(product.lo).including(product.hi)
    total = total.including(offsets.lo).including(offsets.hi)
    return "\n".join(
        [
            f"/// clip((x * mult[c] + add[c]) >> {stage.shift}, {stage.lo}, {stage.hi})",
            f"struct {struct} {{",
            f"  static constexpr int product_bits = {signed_bits(total)};",
            f"  static constexpr int out_bits = {signed_bits(Range(stage.lo, stage.hi))};",
            f"  static constexpr int shift = {stage.shift};",
            f"  static constexpr std::int64_t lo = {stage.lo};",
            f"  static constexpr std::int64_t hi = {stage.hi};",
            f"  static constexpr {cpp_table_type(mult)} mult = {{{braces(mult)}}};",
            f"  static constexpr {cpp_table_type(add)} add = {{{braces(add)}}};",
            "};",
        ]
    )


def _threshold_struct(
    stage: ThresholdStage, inputs: Range, struct: str, channels: int, entries: int
) -> str:
    sign = _channel_table(stage.sign, channels, entries)
    signed = Range(min(inputs.lo, -inputs.hi), max(inputs.hi, -inputs.lo))
    signed = inputs if (sign == 1).all() else signed
    uniform = len(set(stage.thresholds)) == 1
    rows = stage.thresholds[:1] if uniform else stage.thresholds
    entries = 1 if uniform else entries
    levels = max(len(rows[0]).bit_length(), 1)
    groups = -(-len(rows) // entries)
    # Values never reached fill the rows up; thresholds out of reach of x are pulled in to its
    # range, which changes no comparison and keeps the table's type small.
    table = np.full((groups * entries, (1 << levels) - 1), signed.hi + 1, np.int64)
    for channel, row in enumerate(rows):
        table[channel, : len(row)] = np.clip(np.array(row, object), signed.lo, signed.hi + 1)
    return "\n".join(
        [
            f"/// {stage.base} + number of the channel's {len(rows[0])} thresholds reached",
            f"struct {struct} {{",
            f"  using threshold_t = {constant_type(array_range(table))};",
            f"  static constexpr int in_bits = {signed_bits(signed)};",
            f"  static constexpr int out_bits = {signed_bits(Range(stage.lo, stage.hi))};",
            f"  static constexpr int base = {stage.base};",
            f"  static constexpr int levels = {levels};",
            f"  static constexpr int groups = {groups};",
            f"  static constexpr int entries = {entries};",
            f"  static constexpr {cpp_table_type(sign)} sign = {{{braces(sign)}}};",
            "  /// [group][entry][threshold]",
            f"  static constexpr threshold_t thresholds[] = {braces(table.reshape(-1))};",
            "};",
        ]
    )
