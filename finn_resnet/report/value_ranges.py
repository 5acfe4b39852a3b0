"""Box plots of codes against the range of their type: weights of layers, values of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

_WIDTH, _ROW, _LABEL, _SHARE = 980, 22, 260, 210
_HALF_BOX = 6


@dataclass(frozen=True)
class ValueProfile:
    """Codes of one tensor: the type's range, least, quartiles and greatest, shares at its ends."""

    name: str
    lo: int
    hi: int
    quartiles: tuple[float, ...]
    at_lo: float
    at_hi: float

    @classmethod
    def of_counts(cls, name: str, lo: int, counts: np.ndarray) -> ValueProfile:
        """Of ``counts[i]`` codes ``lo + i``; the range is as long as the counts are.

        A quartile is the least code with that share of all codes at or below it. A code at an end
        of the range may have been clipped to it.
        """
        below = np.cumsum(counts) / counts.sum()
        seen = np.flatnonzero(counts)
        inner = np.searchsorted(below, (0.25, 0.5, 0.75))
        codes = tuple(float(lo + code) for code in (seen[0], *inner, seen[-1]))
        at_lo, at_hi = (float(counts[end] / counts.sum()) for end in (0, -1))
        return cls(name, lo, lo + len(counts) - 1, codes, at_lo, at_hi)


def draw_value_ranges(profiles: Sequence[ValueProfile], what: str) -> str:
    """SVG with a row for each tensor; its width is the whole range of the tensor's type."""
    height = len(profiles) * _ROW + 4
    rows = "".join(_row(profile, index) for index, profile in enumerate(profiles))
    return (
        f'<svg class="ranges" role="img" aria-label="{what} of {len(profiles)} tensors against '
        f'their types" xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}">{rows}</svg>'
    )


def _row(profile: ValueProfile, index: int) -> str:
    middle = index * _ROW + _ROW / 2
    across = (_WIDTH - _LABEL - _SHARE) / max(profile.hi - profile.lo, 1)
    least, first, median, third, most = (
        _LABEL + (code - profile.lo) * across for code in profile.quartiles
    )
    figures = ", ".join(f"{code:g}" for code in profile.quartiles)
    return (
        f"<g><title>{escape(profile.name)}: least, quartiles, greatest {figures} of "
        f"{profile.lo} to {profile.hi}</title>"
        f'<text x="0" y="{middle + 4}">{escape(profile.name[:36])}</text>'
        f'<line class="grid" x1="{_LABEL}" x2="{_WIDTH - _SHARE}" y1="{middle}" y2="{middle}"/>'
        f'<line class="whisker" x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}"/>'
        f'<rect class="box" x="{first:.1f}" y="{middle - _HALF_BOX}" height="{2 * _HALF_BOX}" '
        f'width="{max(third - first, 1):.1f}"/>'
        f'<line class="whisker" x1="{median:.1f}" x2="{median:.1f}" y1="{middle - _HALF_BOX}" '
        f'y2="{middle + _HALF_BOX}"/>'
        f'<text class="muted" x="{_WIDTH - _SHARE + 10}" y="{middle + 4}">'
        f"{100 * profile.at_lo:.1f} % at {profile.lo}, {100 * profile.at_hi:.1f} % at {profile.hi}"
        "</text></g>"
    )
