"""Realise a step function as one multiplication, one addition and a shift, proven equal.

For an accumulator -> code map whose scale is no power of two (an unmerged batch norm, a per-channel
or free scale) the thresholds T_k are taken from the reference's own arithmetic. The affine form
``(x*M + B) >> S`` equals the map exactly when, for every code v_k,

    T_k * M + B >= v_k * 2^S   and   (T_k - 1) * M + B < v_k * 2^S.

For a given slope m = M / 2^S the admissible offsets form an interval whose width is a concave
function of m, so the best slope is found by golden section and then rounded to few bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Stage, ThresholdStage

MAX_SHIFT = 48
MAX_PRODUCT_BITS = 62
"""Largest shift tried, and the widest product: sums with an offset then still fit 64 bits."""


@dataclass(frozen=True, eq=False)
class StepFunction:
    """Monotone step functions of ``C`` channels over one input range.

    ``sign[c]`` is -1 where the map falls with x; the thresholds then are those of ``f(-x)``.
    ``first[c]`` is the code at the low end of ``sign[c] * x``, ``steps[c][k]`` the smallest
    ``sign[c] * x`` that reaches ``first[c] + 1 + k``.
    """

    inputs: Range
    sign: tuple[int, ...]
    first: tuple[int, ...]
    steps: tuple[np.ndarray, ...]

    def __eq__(self, other: object) -> bool:
        """Same codes for every input: thresholds decide."""
        return (
            isinstance(other, StepFunction)
            and (self.inputs, self.first) == (other.inputs, other.first)
            and all(
                np.array_equal(a, b) and (sign == other_sign or not len(a))
                for a, b, sign, other_sign in zip(
                    self.steps, other.steps, self.sign, other.sign, strict=True
                )
            )
        )

    @property
    def outputs(self) -> Range:
        """Range of all codes over all channels."""
        last = [f + len(t) for f, t in zip(self.first, self.steps, strict=True)]
        return Range(min(self.first), max(last))

    def low_end(self, channel: int) -> int:
        """Smallest value of ``sign * x`` for the channel."""
        return self.inputs.lo if self.sign[channel] > 0 else -self.inputs.hi

    def high_end(self, channel: int) -> int:
        """Largest value of ``sign * x`` for the channel."""
        return self.inputs.hi if self.sign[channel] > 0 else -self.inputs.lo


def realise(steps: StepFunction) -> Stage:
    """Cheapest exact stage for ``steps``: affine where one exists, thresholds otherwise."""
    return fit_affine(steps) or as_thresholds(steps)


def as_thresholds(steps: StepFunction) -> ThresholdStage:
    """The step function as explicit comparisons, every channel with the same number."""
    outputs = steps.outputs
    rows = []
    for channel, (first, reached) in enumerate(zip(steps.first, steps.steps, strict=True)):
        below = [steps.low_end(channel)] * (first - outputs.lo)
        # A threshold past the reachable end is never met.
        above = [steps.high_end(channel) + 1] * (outputs.hi - first - len(reached))
        rows.append(tuple(below + [int(t) for t in reached] + above))
    return ThresholdStage(outputs.lo, steps.sign, tuple(rows))


def fit_affine(steps: StepFunction) -> AffineStage | None:
    """An affine stage equal to ``steps`` over its inputs, or None where none exists.

    The shift is the smallest that serves all channels, so the multipliers stay narrow.
    """
    slopes = [_best_slope(steps, channel) for channel in range(len(steps.sign))]
    if any(slope is None for slope in slopes):
        return None
    outputs, steepest = steps.outputs, max(slopes)
    for shift in range(MAX_SHIFT + 1):
        if int(steepest * 2**shift).bit_length() + steps.inputs.bits > MAX_PRODUCT_BITS:
            break
        mult, add = [], []
        for channel, slope in enumerate(slopes):
            pair = _integer_pair(steps, channel, slope, shift)
            if pair is None:
                break
            mult.append(steps.sign[channel] * pair[0])
            add.append(pair[1])
        else:
            return AffineStage(tuple(mult), tuple(add), shift, outputs.lo, outputs.hi)
    return None


def _constraints(steps: StepFunction, channel: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (x, v) with f(x) >= v on the first list and f(x - 1) < v: both as [n, 2] int64.

    Where the range never reaches the lowest or highest code of *all* channels the shared clip does
    not help, so the ends are constraints as well.
    """
    outputs = steps.outputs
    first, reached = steps.first[channel], steps.steps[channel]
    codes = first + 1 + np.arange(len(reached), dtype=np.int64)
    at_least = [np.stack([reached, codes], axis=1)]
    below = [np.stack([reached - 1, codes], axis=1)]
    if first > outputs.lo:
        at_least.append(np.array([[steps.low_end(channel), first]], np.int64))
    last = first + len(reached)
    if last < outputs.hi:
        below.append(np.array([[steps.high_end(channel), last + 1]], np.int64))
    return np.concatenate(at_least), np.concatenate(below)


def _best_slope(steps: StepFunction, channel: int) -> float | None:
    at_least, below = _constraints(steps, channel)
    if not len(at_least) or not len(below):
        return 0.0

    def width(m: float) -> float:
        lower = np.max(at_least[:, 1] - m * at_least[:, 0])
        return float(np.min(below[:, 1] - m * below[:, 0]) - lower)

    middle = _maximum(width, float(steps.outputs.hi - steps.outputs.lo + 1))
    return middle if width(middle) > 0 else None


def _maximum(concave: Callable[[float], float], high: float) -> float:
    """Where a concave function is greatest between 0 and ``high``: golden section."""
    low, share = 0.0, (5**0.5 - 1) / 2
    a, b = high - share * high, share * high
    at_a, at_b = concave(a), concave(b)
    for _ in range(84):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + share * (high - low)
            at_b = concave(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - share * (high - low)
            at_a = concave(a)
    return (low + high) / 2


def _integer_pair(
    steps: StepFunction, channel: int, slope: float, shift: int
) -> tuple[int, int] | None:
    """Integers (M, B) for this shift, checked exactly, or None."""
    at_least, below = _constraints(steps, channel)
    for mult in dict.fromkeys((round(slope * 2**shift), int(slope * 2**shift))):
        lower = int(_offsets(at_least, mult, shift).max()) if len(at_least) else 0
        upper = int(_offsets(below, mult, shift).min()) if len(below) else lower + 1
        if lower < upper:
            return mult, roundest(lower, upper - 1)
    return None


def _offsets(points: np.ndarray, mult: int, shift: int) -> np.ndarray:
    """``v * 2^shift - x * mult`` of points (x, v), in int64 where that is wide enough."""
    largest = int(np.abs(points).max()).bit_length() + max(shift, mult.bit_length())
    points = points.astype(object) if largest > 61 else points
    return points[:, 1] * (1 << shift) - points[:, 0] * mult


def roundest(lo: int, hi: int) -> int:
    """The integer of ``[lo, hi]`` with the most trailing zero bits: the cheapest constant."""
    for bit in range((hi - lo).bit_length(), -1, -1):
        candidate = -(-lo >> bit) << bit
        if lo <= candidate <= hi:
            return candidate
    return lo
