"""Roofline: the rate the board's multipliers and memory port allow, and where the design stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 560, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 50, 24, 46

# Two int8 products in every DSP48E2 and cycle; 4-bit layers can do four.
PRODUCTS_PER_DSP = 2
# Width of the input and of the output port (docs/architecture.md, section 3).
BEAT_BYTES = 16


@dataclass(frozen=True)
class Roofline:
    """Limits: `peak` in GMAC/s, `bandwidth` in GB/s to and from memory, what `label` stands for."""

    peak: float
    bandwidth: float
    label: str = "roof"

    def limit(self, intensity: float) -> float:
        """Highest rate in GMAC/s of a design that computes `intensity` MACs per byte moved."""
        return min(self.peak, self.bandwidth * intensity)


@dataclass(frozen=True)
class DesignPoint:
    """A design at `intensity` MAC per byte that computes `rate` GMAC/s."""

    label: str
    intensity: float
    rate: float


def board_roofline(dsp: int, clock_mhz: float, products: int = PRODUCTS_PER_DSP) -> Roofline:
    """Limits of a board: all DSPs busy with `products` each, one beat in and out every cycle."""
    return products_roofline(
        products * dsp, clock_mhz, f"all {dsp:,} DSPs, {products} products each"
    )


def products_roofline(products: int, clock_mhz: float, label: str) -> Roofline:
    """Limits of `products` multiplications a cycle, and of one beat in and out every cycle."""
    return Roofline(products * clock_mhz / 1e3, 2 * BEAT_BYTES * clock_mhz / 1e3, label)


def draw_roofline(
    roofline: Roofline, points: list[DesignPoint], others: Sequence[Roofline] = ()
) -> str:
    """SVG with both axes logarithmic: MAC per byte across, GMAC/s up.

    `others` are further roofs of the same bandwidth.
    """
    ridge = roofline.peak / roofline.bandwidth
    across = _Axis.around([ridge, *(point.intensity for point in points)], _LEFT, _WIDTH - _RIGHT)
    # Pixels count downwards.
    peaks = [roof.peak for roof in (roofline, *others)]
    up = _Axis.around([*peaks, *(point.rate for point in points)], _HEIGHT - _BOTTOM, _TOP)
    parts = [_roof(roof, across, up, index) for index, roof in enumerate((roofline, *others))]
    parts += [_grid_line(across, value, vertical=True) for value in across.decades()]
    parts += [_grid_line(up, value, vertical=False) for value in up.decades()]
    parts += [
        f'<circle class="point" cx="{across.at(p.intensity):.1f}" cy="{up.at(p.rate):.1f}" r="5">'
        f"<title>{escape(p.label)}: {p.rate:.1f} GMAC/s</title></circle>"
        f'<text class="label" x="{across.at(p.intensity) - 10:.1f}" '
        f'y="{up.at(p.rate) + 16 * i + 34:.1f}">'
        f"{escape(p.label)}: {p.rate:.1f} GMAC/s</text>"
        for i, p in enumerate(points)
    ]
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}">MAC per byte moved</text>'
        f'<text x="4" y="{_TOP - 10}">GMAC/s</text>'
    )
    said = "; ".join(f"{p.label} {p.rate:.1f} GMAC/s" for p in points)
    return (
        f'<svg class="roofline" role="img" aria-label="Roofline: {escape(said)}" '
        f'xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
        f'height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">' + "".join(parts) + "</svg>"
    )


def _roof(roof: Roofline, across: _Axis, up: _Axis, index: int) -> str:
    """The line of a roof, and in the corner below the roofs what it stands for."""
    ridge = roof.peak / roof.bandwidth
    line = " ".join(
        f"{across.at(x):.1f},{up.at(max(roof.limit(x), up.low)):.1f}"
        for x in (max(across.low, up.low / roof.bandwidth), max(ridge, across.low), across.high)
    )
    kind = "roof" if index == 0 else "roof built"
    sign = "solid" if index == 0 else "dashed"
    at = _HEIGHT - _BOTTOM - 28 + 16 * index
    return (
        f'<polyline class="{kind}" points="{line}"/>'
        f'<text class="label" x="{_WIDTH - _RIGHT}" y="{at:.1f}">{sign}: {escape(roof.label)}, '
        f"{roof.peak:,.0f} GMAC/s</text>"
    )


@dataclass(frozen=True)
class _Axis:
    """Logarithmic axis from `low` to `high`, whole decades, between two pixel positions."""

    low: float
    high: float
    first: float
    last: float

    @classmethod
    def around(cls, values: list[float], first: float, last: float) -> _Axis:
        """The axis of the whole decades that hold `values`, with some room."""
        low = 10.0 ** math.floor(math.log10(min(values)) - 0.3)
        high = 10.0 ** math.ceil(math.log10(max(values)) + 0.1)
        return cls(low, high, first, last)

    def at(self, value: float) -> float:
        """Pixel position of `value`."""
        share = math.log10(value / self.low) / math.log10(self.high / self.low)
        return self.first + share * (self.last - self.first)

    def decades(self) -> list[float]:
        """The powers of ten on the axis."""
        count = round(math.log10(self.high / self.low))
        return [self.low * 10.0**i for i in range(count + 1)]


def _grid_line(axis: _Axis, value: float, vertical: bool) -> str:
    at = axis.at(value)
    if vertical:
        line = f'x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"'
        label = f'x="{at - 6:.1f}" y="{_HEIGHT - _BOTTOM + 16}"'
    else:
        line = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"'
        label = f'x="{_LEFT - 48}" y="{at + 4:.1f}"'
    return f'<line class="grid" {line}/><text {label}>{value:g}</text>'
