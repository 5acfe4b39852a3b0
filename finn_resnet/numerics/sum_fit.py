"""Fixed-point form of a requantised sum, proven over all codes of its operands.

The exact sum ``T = sum(M_i * x_i)`` of operands whose scales are unrelated floats has multipliers
of 24 bits and more. A Quant behind it is a step function of T with thresholds t_k. The form

    clip((sum(m_i * x_i) + c) >> s, lo, hi)

with small m_i is equal to it exactly when, for all operands but one, and for each code k,

    m * x_k + p + c >= k * 2^s   and   m * (x_k - 1) + p + c < k * 2^s

where x_k is the smallest code of the last operand with ``M * x_k + P >= t_k`` and P, p are the
other operands' exact and fixed-point parts. Each is a bound on c: the proof is also the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from finn_resnet.numerics.affine_fit import StepFunction, roundest
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage

_MOST_COMBINATIONS = 1 << 17
_MOST_BITS = 26
"""Of a multiplier: with a code of up to 17 bits its product is that of one DSP."""
_LARGEST_SHIFT = 40


@dataclass(frozen=True)
class SumFit:
    """Multipliers of the operands and the stage of their sum."""

    mults: tuple[int, ...]
    stage: AffineStage


def fit_sum(mults: list[int], ranges: list[Range], steps: StepFunction) -> SumFit | None:
    """The form with the smallest shift that equals ``steps`` of ``sum(mults * codes)``, or None.

    Args:
        mults: exact multipliers, any signs.
        ranges: of the operands' codes.
        steps: rising step functions of the exact sum, one or one per channel.
    """
    if any(sign < 0 for sign in steps.sign):
        return None
    proof = _Proof(mults, ranges, steps)
    if not proof.feasible:
        return None
    slopes = [_slope(steps, channel) for channel in range(len(steps.first))]
    if max(slopes) > min(slopes) * (1 + 2**-18):
        return None
    slope, outputs = float(np.mean(slopes)), steps.outputs
    for shift in range(1, _LARGEST_SHIFT):
        small = [round(slope * mult * 2**shift) for mult in mults]
        if max(abs(m) for m in small).bit_length() > _MOST_BITS:
            return None
        adds = proof.offsets(small, shift) if all(small) else None
        if adds is not None:
            add = adds[:1] if len(set(adds)) == 1 else adds
            return SumFit(tuple(small), AffineStage((1,), add, shift, outputs.lo, outputs.hi))
    return None


def _slope(steps: StepFunction, channel: int) -> float:
    """Codes per unit of the exact sum: its grid is so fine that two thresholds tell it."""
    reached = steps.steps[channel]
    if len(reached) > 1 and reached[-1] > reached[0]:
        return (len(reached) - 1) / float(reached[-1] - reached[0])
    return 1 / max(steps.inputs.hi - steps.inputs.lo, 1)


class _Proof:
    """The bounds on c of one sum, for any small multipliers."""

    def __init__(self, mults: list[int], ranges: list[Range], steps: StepFunction) -> None:
        sizes = [r.hi - r.lo + 1 for r in ranges]
        self._last = int(np.argmax(sizes))
        self._others = [i for i in range(len(mults)) if i != self._last]
        self.feasible = prod(sizes[i] for i in self._others) <= _MOST_COMBINATIONS
        if not self.feasible:
            return
        axes = [np.arange(ranges[i].lo, ranges[i].hi + 1) for i in self._others]
        self._codes = [grid.ravel() for grid in np.meshgrid(*axes)]
        self._steps = steps
        self._falling = mults[self._last] < 0
        self._mult = abs(mults[self._last])
        ends = ranges[self._last].times(-1) if self._falling else ranges[self._last]
        self._low, self._high = ends
        self._part = sum(mults[i] * x for i, x in zip(self._others, self._codes, strict=True))

    def offsets(self, small: list[int], shift: int) -> tuple[int, ...] | None:
        """One c per channel that proves the form, None where a channel has none."""
        part = sum(small[i] * x for i, x in zip(self._others, self._codes, strict=True))
        mult = -small[self._last] if self._falling else small[self._last]
        found = []
        for channel in range(len(self._steps.first)):
            lower, upper = self._bounds(channel, mult, part, shift)
            if lower > upper:
                return None
            found.append(roundest(lower, upper))
        return tuple(found)

    def _bounds(self, channel: int, mult: int, part: np.ndarray, shift: int) -> tuple[int, int]:
        lower, upper = -(1 << 60), 1 << 60
        first, reached = self._steps.first[channel], self._steps.steps[channel]
        outputs = self._steps.outputs
        for code, threshold in enumerate(reached, first + 1):
            x = np.clip(-((self._part - threshold) // self._mult), self._low, self._high + 1)
            value = mult * x + part
            hit, missed = x <= self._high, x > self._low
            lower = max(lower, int(((code << shift) - value[hit]).max(initial=lower)))
            below = (code << shift) - 1 - (value[missed] - mult)
            upper = min(upper, int(below.min(initial=upper)))
        # A channel that never meets the shared clip is bound at its ends as well.
        if first > outputs.lo:
            lower = max(lower, int(((first << shift) - (mult * self._low + part)).max()))
        last = first + len(reached)
        if last < outputs.hi:
            top = ((last + 1) << shift) - 1 - (mult * self._high + part)
            upper = min(upper, int(top.min()))
        return lower, upper
