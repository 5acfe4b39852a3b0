"""What a convolution's circuit is made from: sizes, operands, ranges and the multipliers' tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from finn_resnet.generation.rtl.requant_rtl import rounding_addend
from finn_resnet.numerics.dsp_packing import UNPACKED, packing_of, tap_order
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser

FIELD_BITS = 18
"""Distance of the two sums of a packed column in P."""


@dataclass(frozen=True)
class ConvSizes:
    """Sizes and unroll factors, named as the attributes of StreamConv."""

    ich: int
    och: int
    ow: int
    fh: int
    fw: int
    stride_w: int
    och_par: int
    ich_par: int
    ow_par: int

    @property
    def in_groups(self) -> int:
        """Input channel groups."""
        return -(-self.ich // self.ich_par)

    @property
    def out_groups(self) -> int:
        """Output channel groups."""
        return -(-self.och // self.och_par)

    @property
    def column_groups(self) -> int:
        """Output column groups."""
        return -(-self.ow // self.ow_par)

    @property
    def words(self) -> int:
        """Iterations of a column group, each with weights of its own."""
        return self.in_groups * self.out_groups

    @property
    def window_columns(self) -> int:
        """Columns of a window."""
        return self.fw + (self.ow_par - 1) * self.stride_w

    @property
    def window_codes(self) -> int:
        """Codes of a window token."""
        return self.fh * self.window_columns * self.ich_par


class Tile(NamedTuple):
    """Sums that share multipliers: entries of the output channel group, and columns.

    Two entries of one column, one entry of two columns, or a single sum.
    """

    entries: tuple[int, ...]
    lanes: tuple[int, ...]

    @property
    def sums(self) -> list[tuple[int, int]]:
        """(entry, column) of the low and, where there are two, of the high sum."""
        return [(entry, lane) for entry in self.entries for lane in self.lanes]


@dataclass(frozen=True)
class Multiplication:
    """A convolution or its merged downsample: ``sum = bias + window * weights``.

    Attributes:
        sizes: of the convolution.
        weights: integers ``[och, kernel rows, kernel columns, ich]``.
        bias: integers ``[och]``.
        codes: range of the activations at the multiplier.
        in_requant: applied to the window's codes.
        tap: window position of the kernel's first tap (row, column).
        requant: what the sum goes through next; its rounding is prepared in the start value.
        sum_shift: left shift of the sum before that.
        lut_tiles: so many of the last tiles multiply in LUTs, None for all.
        longest_chain: taps of a cascade at most.
    """

    sizes: ConvSizes
    weights: np.ndarray
    bias: np.ndarray
    codes: Range
    in_requant: Requantiser
    tap: tuple[int, int]
    requant: Requantiser
    sum_shift: int = 0
    lut_tiles: int | None = 0
    longest_chain: int = 20

    @cached_property
    def weight_codes(self) -> Range:
        """Range of the weights, 0 of the entries beyond the last channels included."""
        return Range(int(self.weights.min()), int(self.weights.max())).including(0)

    @cached_property
    def rows(self) -> np.ndarray:
        """Weights ``[entry, word, tap]``, 0 beyond the last channels; taps in `tap_order`."""
        s = self.sizes
        taps = tap_order(self.weights, s.ich_par)
        padded = np.zeros((s.out_groups * s.och_par, *taps.shape[1:]), np.int64)
        padded[: s.och] = taps
        split = padded.reshape(s.out_groups, s.och_par, s.in_groups, taps.shape[2])
        return split.transpose(1, 2, 0, 3).reshape(s.och_par, s.words, taps.shape[2])

    @property
    def taps(self) -> int:
        """Products of a sum."""
        return self.rows.shape[2]

    @property
    def chains(self) -> list[range]:
        """The taps of every cascade, of lengths as equal as can be."""
        count = -(-self.taps // self.longest_chain)
        ends = [self.taps * n // count for n in range(count + 1)]
        return [range(a, b) for a, b in pairwise(ends)]

    @property
    def depth(self) -> int:
        """Taps of the longest cascade."""
        return max(map(len, self.chains))

    @cached_property
    def skews(self) -> list[int]:
        """Clocks that each tap's operands come after the first ones: all cascades end together."""
        return [self.depth - (chain.stop - t) for chain in self.chains for t in chain]

    @cached_property
    def addend(self) -> int:
        """What the requantiser's rounding adds, in units of the sum; 0 if that is not possible."""
        addend = rounding_addend(self.requant) or 0
        return addend >> self.sum_shift if addend % (1 << self.sum_shift) == 0 else 0

    @property
    def rounding_added(self) -> bool:
        """Whether the requantiser finds its rounding's addend in the sum."""
        wanted = rounding_addend(self.requant)
        return wanted is not None and wanted == self.addend << self.sum_shift

    @cached_property
    def starts(self) -> np.ndarray:
        """Start values ``[entry, output channel group]``: bias and addend."""
        s = self.sizes
        padded = np.zeros(s.out_groups * s.och_par, np.int64)
        padded[: s.och] = self.bias
        return (padded + self.addend).reshape(s.out_groups, s.och_par).T

    def sum_range(self, entry: int) -> Range:
        """Range of an entry's sums of one iteration, start value included."""
        codes = self.codes.including(0)
        ends = np.stack([self.rows[entry] * codes.lo, self.rows[entry] * codes.hi])
        low, high = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
        groups = self.sizes.out_groups
        low[:groups] += self.starts[entry]
        high[:groups] += self.starts[entry]
        return Range(int(low.min()), int(high.max())).including(0)

    def position(self, lane: int, tap: int) -> int:
        """Place of a tap's code for a column in the window token."""
        s = self.sizes
        kernel_h, kernel_w = self.weights.shape[1:3]
        channel, place = divmod(tap, kernel_h * kernel_w)
        row, column = self.tap[0] + place // kernel_w, self.tap[1] + place % kernel_w
        return (row * s.window_columns + column + lane * s.stride_w) * s.ich_par + channel

    def tiles(self) -> Iterator[tuple[Tile, bool]]:
        """All tiles, and whether each multiplies in LUTs."""
        found = list(self._tiles())
        lut = len(found) if self.lut_tiles is None else self.lut_tiles
        for number, tile in enumerate(found):
            in_lut = number >= len(found) - lut
            singles = [Tile((entry,), (lane,)) for entry, lane in tile.sums]
            yield from ((one, True) for one in singles) if in_lut else [(tile, False)]

    def _tiles(self) -> Iterator[Tile]:
        """Channel pairs, then column pairs of an odd last channel, then what remains."""
        s = self.sizes
        if packing_of(self.weight_codes, self.codes.including(0)) == UNPACKED:
            yield from (Tile((o,), (lane,)) for o in range(s.och_par) for lane in range(s.ow_par))
            return
        for o in range(0, s.och_par - 1, 2):
            yield from (Tile((o, o + 1), (lane,)) for lane in range(s.ow_par))
        if s.och_par % 2:
            last = s.och_par - 1
            yield from (Tile((last,), (lane, lane + 1)) for lane in range(0, s.ow_par - 1, 2))
            if s.ow_par % 2:
                yield Tile((last,), (s.ow_par - 1,))
