"""Cost of a requantiser per output code, by the kind of its stages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil, prod

from finn_resnet.boards import Resources, total
from finn_resnet.parallelism.coefficients import coefficient, keeps_costs, priced
from finn_resnet.parallelism.memory_cost import rom_cost

_DSP_BITS = (27, 18)


@keeps_costs
def requant_cost(requant: str, in_bits: int, copies: int, channel_groups: int) -> Resources:
    """Cost of ``copies`` parallel requantisers (JSON of architecture section 2, "" = identity).

    ``in_bits`` is the accumulator width; ``channel_groups`` is over how many cycles the
    per-channel constants change (1: they are wiring).
    """
    stages = json.loads(requant) if requant else []
    return total(_stage_cost(stage, in_bits, copies, channel_groups) for stage in stages)


def _stage_cost(stage: dict, in_bits: int, copies: int, channel_groups: int) -> Resources:
    kind = stage["kind"]
    if kind == "shift":
        rounded = max(in_bits - max(stage["shift"], 0), 1)
        bits = priced("shift_requant_lut_per_bit", rounded) + Resources(ff=_bits([stage["hi"]]) - 1)
        return (priced("shift_requant_lut") + bits) * copies
    if kind == "affine":
        per_channel = len(stage["mult"]) > 1 or len(stage["add"]) > 1
        constant_bits = _bits(stage["mult"]) + _bits(stage["add"])
        sizes = sorted((in_bits, _bits(stage["mult"])), reverse=True)
        parts = prod(ceil(size / bits) for size, bits in zip(sizes, _DSP_BITS, strict=True))
        arithmetic = factor_cost(stage["mult"]) * parts + priced("affine_requant_lut")
        return arithmetic * copies + _constants(per_channel, constant_bits, copies, channel_groups)
    if kind == "threshold":
        levels = max(len(row) for row in stage["thresholds"])
        compare = priced("threshold_requant_lut_per_level_bit", levels * in_bits)
        per_channel = len(stage["thresholds"]) > 1
        return compare * copies + _constants(per_channel, levels * in_bits, copies, channel_groups)
    raise ValueError(f"requantiser stage {kind!r}")


def factor_cost(factors: Sequence[int]) -> Resources:
    """A multiplication by one of ``factors``, known constants: nothing for powers of two."""
    wired = all(abs(f) & (abs(f) - 1) == 0 for f in factors)
    return Resources(dsp=0 if wired else coefficient("affine_requant_dsp"))


def _constants(per_channel: bool, bits: int, copies: int, channel_groups: int) -> Resources:
    return rom_cost(channel_groups if per_channel else 1, bits * copies, "lut")


def _bits(values: list[int]) -> int:
    return max(abs(int(value)).bit_length() for value in values) + 1
