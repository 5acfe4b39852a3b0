"""Two products in one DSP: which weights allow it, and where the cascade must be cut.

A DSP48E2 computes ``P += (A * 2**18 + D) * B``. At the end of a cascade the low sum is the signed
number ``P[17:0]`` and the high sum ``(P >> 18) + P[17]``: exact if and only if the *final* low sum
of the cascade fits 18 signed bits (partial sums may overflow, two's complement forgives them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finn_resnet.numerics.ranges import Range

LOW_SUM = Range(-(1 << 17), (1 << 17) - 1)
"""What 18 signed bits hold."""

PACKED_OPERAND = Range(-255, 255)
"""Operands ``A`` and ``D`` whose packing ``A * 2**18 + D`` fits the 27-bit multiplier port."""


def is_packable(weights: Range, codes: Range) -> bool:
    """Whether products of these operands fit the packed multiplier, either of them packed."""
    operands = (weights.lo, weights.hi, codes.lo, codes.hi)
    return min(operands) >= PACKED_OPERAND.lo and max(operands) <= PACKED_OPERAND.hi


def multipliers(och_par: int, ow_par: int) -> int:
    """DSPs per tap and input channel of a packed array: one for every two products.

    Products are paired over output columns; those of an odd last column over output channels.
    """
    return -(-och_par * ow_par // 2)


def chain_ends(weights: np.ndarray, codes: Range) -> tuple[int, ...]:
    """Cut dot products into the fewest chains whose low sums always fit.

    The sum of ``max(w * lo, w * hi)`` over a chain must not exceed 131071 and that of the minima
    not fall below -131072, for every dot product that shares the hardware. 0 counts as a possible
    code (padding, and entries beyond the last channel), so a part of a safe chain is safe and the
    greedy cut is the smallest.

    Args:
        weights: integers ``[..., taps]``; the leading axes are the dot products that take turns
            on the same chain.
        codes: range of the other operand.

    Returns:
        One past the last tap of each chain, ascending; the last entry is ``taps``.

    Raises:
        ValueError: there is no tap, or one product alone leaves 18 bits.
    """
    flat = np.asarray(weights, np.int64).reshape(-1, np.shape(weights)[-1])
    codes = codes.including(0)
    products = np.stack([flat * codes.lo, flat * codes.hi])
    lowest, highest = products.min(axis=0), products.max(axis=0)
    if flat.shape[1] == 0:
        raise ValueError("a dot product without taps has no chain")
    if lowest.min() < LOW_SUM.lo or highest.max() > LOW_SUM.hi:
        raise ValueError("one product alone does not fit the 18-bit low sum of a packed DSP")
    ends: list[int] = []
    start = 0
    for tap in range(1, flat.shape[1] + 1):
        low, high = lowest[:, start:tap].sum(axis=1), highest[:, start:tap].sum(axis=1)
        if low.min() < LOW_SUM.lo or high.max() > LOW_SUM.hi:
            ends.append(tap - 1)
            start = tap - 1
    return (*ends, flat.shape[1])


def longest_chain(weights: Range, codes: Range) -> int:
    """Taps that are always safe, whatever the weights: 7 for int8 by int8, 4 for uint8 by int8."""
    worst = [w * x for w in weights for x in codes.including(0)]
    highest, lowest = max(worst), -min(worst)
    limits = [LOW_SUM.hi // highest] if highest > 0 else []
    limits += [-LOW_SUM.lo // lowest] if lowest > 0 else []
    return min(limits, default=1 << 30)


def tap_order(weights: np.ndarray, ich_par: int) -> np.ndarray:
    """Weights ``[och, fh, fw, ich]`` as the hardware's dot products ``[och, groups, taps]``.

    ``groups`` counts the input channel groups of ``ich_par`` channels (the last one filled up
    with 0); taps are ordered input channel of the group, then kernel tap (fastest).
    """
    och, fh, fw, ich = weights.shape
    groups = -(-ich // ich_par)
    padded = np.zeros((och, fh * fw, groups * ich_par), np.int64)
    padded[:, :, :ich] = weights.reshape(och, fh * fw, ich)
    split: Sequence[int] = (och, fh * fw, groups, ich_par)
    return padded.reshape(split).transpose(0, 2, 3, 1).reshape(och, groups, ich_par * fh * fw)
