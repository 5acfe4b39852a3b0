"""Storage of a stream in the device's own steps: registers, SRL, LUTRAM, BRAM."""

from __future__ import annotations

from functools import cache

from finn_resnet.parallelism.memory_cost import fifo_cost

MIN_DEPTH = 2
"""A FIFO of one token can only move one every two cycles."""

# Exchange rates for one figure: LUTRAM of 64 x 1 bit per LUT, two registers with every LUT, and
# block memories by their bits (36 Ki and 288 Ki).
_LUT_PER_FF = 0.5
_LUT_PER_BRAM36 = 576.0
_LUT_PER_URAM = 4608.0


@cache
def storage(depth: int, width_bits: int) -> float:
    """Storage of ``depth`` tokens in LUT equivalents, by the cost model, without FIFO control."""
    return _luts(depth, width_bits) - _luts(depth, 0)


def _luts(depth: int, width_bits: int) -> float:
    cost = fifo_cost(depth, width_bits)
    registers_and_luts = cost.lut + _LUT_PER_FF * cost.ff
    return registers_and_luts + _LUT_PER_BRAM36 * cost.bram36 + _LUT_PER_URAM * cost.uram


@cache
def one_step_less(depth: int, width_bits: int) -> int | None:
    """The largest smaller depth that needs less storage; None if there is none."""
    now = storage(depth, width_bits)
    smaller = range(depth - 1, MIN_DEPTH - 1, -1)
    return next((less for less in smaller if storage(less, width_bits) < now), None)
