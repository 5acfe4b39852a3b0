"""How much of every tensor's codes some pictures reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finn_resnet.numerics.ranges import Range


@dataclass
class Coverage:
    """What was seen of one tensor whose codes lie in ``possible``.

    ``seen[i]`` says whether code ``possible.lo + i`` came up; None for accumulators, which have no
    thresholds of their own. ``counts[i]`` is how often it did in pictures that are typical ones.
    """

    possible: Range
    lowest: int
    highest: int
    seen: np.ndarray | None
    counts: np.ndarray | None

    @classmethod
    def of(
        cls, codes: np.ndarray, possible: Range, *, quantised: bool, typical: int = 0
    ) -> Coverage:
        """Of the codes of some pictures (at least one), of which the first ``typical`` are so."""
        seen = counts = None
        if quantised:
            length = possible.hi - possible.lo + 1
            inside = np.clip(codes, *possible) - possible.lo
            counts = np.bincount(inside[:typical].ravel(), minlength=length)
            seen = np.bincount(inside.ravel(), minlength=length) > 0
        return cls(possible, int(codes.min()), int(codes.max()), seen, counts)

    def joined(self, other: Coverage) -> Coverage:
        """Of the pictures of both."""
        return Coverage(
            self.possible,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            None if self.seen is None else self.seen | other.seen,
            None if self.counts is None else self.counts + other.counts,
        )

    @property
    def thresholds(self) -> int:
        """Steps between neighbouring codes."""
        return 0 if self.seen is None else len(self.seen) - 1

    @property
    def thresholds_hit(self) -> int:
        """Steps with both neighbouring codes seen."""
        return 0 if self.seen is None else int((self.seen[1:] & self.seen[:-1]).sum())

    @property
    def extremes(self) -> int:
        """How many of the two ends of the range were reached."""
        return (self.lowest == self.possible.lo) + (self.highest == self.possible.hi)

    def as_dict(self) -> dict[str, int | list[int] | None]:
        """JSON-ready figures; the keys are stable."""
        counted = self.counts is not None and self.counts.any()
        return {
            "range": list(self.possible),
            "reached": [self.lowest, self.highest],
            "extremes": self.extremes,
            "thresholds": self.thresholds,
            "thresholds_hit": self.thresholds_hit,
            "counts": self.counts.tolist() if counted else None,
        }


def threshold_share(coverage: dict[str, Coverage]) -> float | None:
    """Share of all thresholds of all tensors that were hit, None where there are none."""
    total = sum(entry.thresholds for entry in coverage.values())
    return sum(entry.thresholds_hit for entry in coverage.values()) / total if total else None
