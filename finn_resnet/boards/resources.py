"""Amounts of the five FPGA resources, used for budgets and for costs alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

RESOURCE_NAMES = ("dsp", "lut", "ff", "bram36", "uram")


@dataclass(frozen=True)
class Resources:
    """DSP48E2 slices, LUT6, flip-flops, 36 Kbit block RAMs (halves allowed) and UltraRAMs.

    A cost whose LUTs and flip-flops are only known between bounds has the higher bound in ``lut``
    and ``ff``, by which it is compared and fits a budget or not, and the lower one in ``lut_low``
    and ``ff_low`` (left out: they are equal). DSPs and memories are counted, not estimated.
    """

    dsp: float = 0
    lut: float = 0
    ff: float = 0
    bram36: float = 0
    uram: float = 0
    lut_low: float = None  # type: ignore[assignment]
    ff_low: float = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("lut", "ff"):
            if getattr(self, f"{name}_low") is None:
                object.__setattr__(self, f"{name}_low", getattr(self, name))

    @property
    def low(self) -> Resources:
        """The lower bounds alone."""
        return Resources(self.dsp, self.lut_low, self.ff_low, self.bram36, self.uram)

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.dsp + other.dsp,
            self.lut + other.lut,
            self.ff + other.ff,
            self.bram36 + other.bram36,
            self.uram + other.uram,
            self.lut_low + other.lut_low,
            self.ff_low + other.ff_low,
        )

    def __mul__(self, factor: float) -> Resources:
        """``factor`` copies of the same hardware."""
        bounds = (*self.as_tuple(), self.lut_low, self.ff_low)
        return Resources(*(factor * amount for amount in bounds))

    __rmul__ = __mul__

    def fits(self, budget: Resources) -> bool:
        """True when no resource exceeds ``budget``."""
        return all(a <= b for a, b in zip(self.as_tuple(), budget.as_tuple(), strict=True))

    def as_tuple(self) -> tuple[float, float, float, float, float]:
        """Amounts in the order of `RESOURCE_NAMES`, the higher bounds."""
        return (self.dsp, self.lut, self.ff, self.bram36, self.uram)

    def as_dict(self) -> dict[str, float]:
        """``{"dsp": .., "lut": .., "ff": .., "bram36": .., "uram": ..}``, the higher bounds."""
        return dict(zip(RESOURCE_NAMES, self.as_tuple(), strict=True))


def total(costs: Iterable[Resources]) -> Resources:
    """The sum of several costs (nothing at all for no costs)."""
    return sum(costs, Resources())
