"""Amounts of the five FPGA resources, used for budgets and for costs alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Resources:
    """DSP48E2 slices, LUT6, flip-flops, 36 Kbit block RAMs (halves allowed) and UltraRAMs."""

    dsp: float = 0
    lut: float = 0
    ff: float = 0
    bram36: float = 0
    uram: float = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.dsp + other.dsp,
            self.lut + other.lut,
            self.ff + other.ff,
            self.bram36 + other.bram36,
            self.uram + other.uram,
        )

    def __mul__(self, factor: float) -> Resources:
        """``factor`` copies of the same hardware."""
        return Resources(*(factor * amount for amount in self.as_tuple()))

    __rmul__ = __mul__

    def fits(self, budget: Resources) -> bool:
        """True when no resource exceeds ``budget``."""
        return all(a <= b for a, b in zip(self.as_tuple(), budget.as_tuple(), strict=True))

    def as_tuple(self) -> tuple[float, float, float, float, float]:
        """Amounts in the order of `RESOURCE_NAMES`."""
        return (self.dsp, self.lut, self.ff, self.bram36, self.uram)

    def as_dict(self) -> dict[str, float]:
        """``{"dsp": .., "lut": .., "ff": .., "bram36": .., "uram": ..}``."""
        return dict(zip(RESOURCE_NAMES, self.as_tuple(), strict=True))


RESOURCE_NAMES = tuple(field.name for field in fields(Resources))


def total(costs: Iterable[Resources]) -> Resources:
    """The sum of several costs (nothing at all for no costs)."""
    return sum(costs, Resources())
