"""Several products in one DSP: which operands allow it, and where the cascade must be cut.

A DSP48E2 multiplies a 27-bit operand, the sum of its ports ``A`` and ``D``, with the 18-bit ``B``
and adds the product to the 48-bit ``P`` of its neighbour. Operands put side by side on a port,
``field_bits`` apart or a multiple of it, give products side by side in ``P``:

* two products, fields of 18 bits: ``(x1 * 2**18 + x0) * y`` (the idea of AMD's white paper WP486
  for 8-bit operands);
* four products of 4-bit operands, fields of 11 bits (WP521): two channels' weights and two
  columns' activations, ``(w1 * 2**22 + w0) * (x1 * 2**11 + x0)``; or three products that share
  one operand, ``(x2 * 2**22 + x1 * 2**11 + x0) * y``. Fields of 12 bits would need operands of
  -8, 7 or 15 at bit 24, which leave the 27-bit port.

At the end of a cascade, a sum is its field of ``P`` as a signed number, plus 1 if what lies below
the field has borrowed from it: bit ``f - 1`` of ``P`` for the field at bit ``f``. The topmost field
has the rest of the 48 bits. This is exact if every sum fits ``field_bits`` signed bits, and those
of fields in the middle even with 1 less (the borrow). Only **final** sums matter: partial sums may
overflow, two's complement forgives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from finn_resnet.numerics.ranges import Range


class Packing(NamedTuple):
    """How products share a DSP.

    A tile of output channels times output columns shares one; the more columns, the fewer
    channels. The channels' weights are on the 27-bit port and the columns' activations on the
    18-bit one, or, in a tile of one channel, the other way round. The product of channel ``c`` and
    column ``l`` is field ``c * columns + l``.

    Attributes:
        port_operands: operands that the 27-bit port holds at most.
        field_bits: distance of neighbouring fields in bits.
    """

    port_operands: int
    field_bits: int

    def products_of(self, och: int) -> int:
        """Products of the largest tile where ``och`` output channels see the same codes."""
        columns = range(1, self.port_operands + 1)
        return max(n * min(och, self.tile_channels(n)) for n in columns)

    @property
    def sums(self) -> Range:
        """Sums that every field gives back exactly."""
        half = 1 << (self.field_bits - 1)
        return Range(-half + (self.port_operands > 2), half - 1)

    def tile_channels(self, columns: int) -> int:
        """Output channels of a tile of ``columns`` output columns."""
        return self.port_operands + 1 - columns

    def column_group(self, och_par: int, ow_par: int) -> int:
        """Columns per tile that take the fewest DSPs, the most columns of these."""
        most = min(self.port_operands, ow_par)
        return min(range(most, 0, -1), key=lambda group: self._tiles(och_par, ow_par, group))

    def multipliers(self, och_par: int, ow_par: int) -> int:
        """DSPs per tap and input channel of an array of och_par * ow_par products."""
        return self._tiles(och_par, ow_par, self.column_group(och_par, ow_par))

    def _tiles(self, och_par: int, ow_par: int, group: int) -> int:
        groups, rest = divmod(ow_par, group)
        tiles = groups * -(-och_par // self.tile_channels(group))
        return tiles + (-(-och_par // self.tile_channels(rest)) if rest else 0)


UNPACKED = Packing(1, 48)
"""Every product has a DSP of its own."""
PAIRS = Packing(2, 18)
"""Two products share a DSP: of two columns, or of the channels of an odd last column."""
FOURS = Packing(3, 11)
"""Four products share a DSP, two channels times two columns; three channels or columns do too."""

# Operands of which PAIRS.port_operands and FOURS.port_operands fit the ports.
_PAIRED = Range(-255, 255)
_IN_FOURS = Range(-8, 15)


def packing_of(weights: Range, codes: Range) -> Packing:
    """The densest packing that operands of these ranges fit."""
    lowest, highest = min(weights.lo, codes.lo), max(weights.hi, codes.hi)
    for packing, operands in ((FOURS, _IN_FOURS), (PAIRS, _PAIRED)):
        if lowest >= operands.lo and highest <= operands.hi:
            return packing
    return UNPACKED


def chain_ends(
    weights: np.ndarray, codes: Range, packing: Packing, longest: int = 0
) -> tuple[int, ...]:
    """Cut dot products into the fewest chains whose sums always fit their field.

    The sum of ``max(w * lo, w * hi)`` over a chain must not exceed ``packing.sums.hi`` (131071 for
    pairs, 1023 for fours) and that of the minima not fall below ``packing.sums.lo``, for every dot
    product that shares the hardware. 0 counts as a possible code (padding, and entries beyond the
    last channel), so a part of a safe chain is safe and the greedy cut is the smallest.

    Args:
        weights: integers ``[..., taps]``; the leading axes are the dot products that take turns
            on the same chain.
        codes: range of the other operand.
        packing: how the products share a DSP.
        longest: taps a chain may have, whatever fits (0: any number).

    Returns:
        One past the last tap of each chain, ascending; the last entry is ``taps``.

    Raises:
        ValueError: there is no tap, or one product alone leaves its field.
    """
    flat = np.asarray(weights, np.int64).reshape(-1, np.shape(weights)[-1])
    codes = codes.including(0)
    products = np.stack([flat * codes.lo, flat * codes.hi])
    lowest, highest = products.min(axis=0), products.max(axis=0)
    sums = packing.sums
    if flat.shape[1] == 0:
        raise ValueError("a dot product without taps has no chain")
    if lowest.min() < sums.lo or highest.max() > sums.hi:
        raise ValueError(f"one product does not fit the {packing.field_bits} bits of its field")
    ends: list[int] = []
    start = 0
    low, high = np.zeros(len(flat), np.int64), np.zeros(len(flat), np.int64)
    for tap in range(flat.shape[1]):
        low, high = low + lowest[:, tap], high + highest[:, tap]
        if low.min() < sums.lo or high.max() > sums.hi or tap - start == longest > 0:
            ends.append(tap)
            start, low, high = tap, lowest[:, tap], highest[:, tap]
    return (*ends, flat.shape[1])


def longest_chain(weights: Range, codes: Range, packing: Packing) -> int:
    """Taps that are always safe, whatever the weights.

    Pairs: 7 for int8 by int8, 4 for int8 by uint8. Fours: 15 for int4 by int4, 8 for int4 by uint4.
    """
    worst = [w * x for w in weights for x in codes.including(0)]
    highest, lowest = max(worst), -min(worst)
    limits = [packing.sums.hi // highest] if highest > 0 else []
    limits += [-packing.sums.lo // lowest] if lowest > 0 else []
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
