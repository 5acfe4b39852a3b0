"""Integer ranges: the closed interval a code can take, and the smallest type that holds it."""

from __future__ import annotations

from typing import NamedTuple

from qonnx.core.datatype import BaseDataType, DataType


class Range(NamedTuple):
    """Closed integer interval ``[lo, hi]``."""

    lo: int
    hi: int

    def shifted(self, bits: int) -> Range:
        """Both bounds times ``2**bits``."""
        return Range(self.lo << bits, self.hi << bits)

    def times(self, factor: int) -> Range:
        """Range of the codes times a whole number, which may be negative."""
        return Range(*sorted((self.lo * factor, self.hi * factor)))

    def plus(self, other: Range) -> Range:
        """Range of a sum of two independent codes."""
        return Range(self.lo + other.lo, self.hi + other.hi)

    def including(self, value: int) -> Range:
        """Smallest range that also holds ``value``."""
        return Range(min(self.lo, value), max(self.hi, value))

    @property
    def signed(self) -> bool:
        """Whether a two's complement type is needed."""
        return self.lo < 0

    @property
    def bits(self) -> int:
        """Width in bits of the smallest integer type that holds the range (at least 1)."""
        if self.lo < 0:
            return max((-self.lo - 1).bit_length(), self.hi.bit_length()) + 1
        return max(self.hi.bit_length(), 1)

    @property
    def datatype(self) -> BaseDataType:
        """Smallest qonnx integer DataType that holds the range."""
        if self.lo < 0:
            # INT1 does not exist in qonnx; a lone -1..0 still takes two bits there.
            return DataType[f"INT{max(self.bits, 2)}"]
        return DataType["BINARY"] if self.bits == 1 else DataType[f"UINT{self.bits}"]
