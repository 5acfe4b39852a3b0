"""The threshold proof: when are two monotone integer maps equal, and what can a chain become.

A monotone map f from [lo, hi] to codes is fixed by f(lo) and by the smallest input that reaches
each further code. Two maps are equal if and only if those agree, so at most 2^bits - 1 comparisons
prove a fused chain exact over the whole reachable range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser, ShiftStage, Stage

IntegerMap = Callable[[np.ndarray], np.ndarray]


def thresholds(f: IntegerMap, inputs: Range) -> tuple[int, np.ndarray]:
    """Code at the low end and the smallest input reaching each code above it.

    Args:
        f: monotone non-decreasing map on int64 arrays of shape [n, 1].
        inputs: reachable inputs.

    Returns:
        ``(f(lo), t)`` with ``t[k]`` the smallest x in the range with ``f(x) >= f(lo) + 1 + k``.
    """
    first, last = (int(v) for v in f(np.array([[inputs.lo], [inputs.hi]])).ravel())
    codes = np.arange(first + 1, last + 1, dtype=np.int64)
    below = np.full(len(codes), inputs.lo, np.int64)  # f(below) < code
    reached = np.full(len(codes), inputs.hi, np.int64)  # f(reached) >= code
    while len(codes) and np.any(reached - below > 1):
        middle = below + (reached - below) // 2
        hit = f(middle[:, None]).ravel() >= codes
        reached = np.where(hit, middle, reached)
        below = np.where(hit, below, middle)
    return first, reached


def equal_on(f: IntegerMap, g: IntegerMap, inputs: Range) -> bool:
    """Whether two monotone maps agree on every integer of ``inputs``."""
    ends = np.array([[inputs.lo], [inputs.hi]])
    if not np.array_equal(f(ends), g(ends)):
        return False
    return np.array_equal(thresholds(f, inputs)[1], thresholds(g, inputs)[1])


def fuse(chain: Requantiser, inputs: Range) -> Requantiser:
    """Shortest chain we can prove equal to ``chain`` for all inputs in ``inputs``.

    A pure clip joins the stage before it by algebra. Anything else is replaced only after the
    threshold proof; where no single stage equals two (double rounding), both stay.
    """
    stages: list[Stage] = []
    for stage in chain.stages:
        stages.append(stage)
        while len(stages) > 1:
            joined = _join(stages[-2], stages[-1], _range_before(stages[:-2], inputs))
            if joined is None:
                break
            stages[-2:] = [joined]
    kept: list[Stage] = []
    for stage in stages:
        if not _is_identity(stage, _range_before(kept, inputs)):
            kept.append(stage)
    return Requantiser.of(kept)


def _range_before(stages: list[Stage], inputs: Range) -> Range:
    return Requantiser.of(stages).output_range(inputs)


def _is_clip(stage: Stage) -> bool:
    return isinstance(stage, ShiftStage) and stage.shift == 0


def _is_identity(stage: Stage, inputs: Range) -> bool:
    return _is_clip(stage) and stage.lo <= inputs.lo and inputs.hi <= stage.hi


def _join(a: Stage, b: Stage, inputs: Range) -> Stage | None:
    if _is_clip(b) and b.lo <= a.hi and b.hi >= a.lo:
        return a.clipped(b.lo, b.hi)
    if not (isinstance(a, ShiftStage) and isinstance(b, ShiftStage)):
        return None
    pair = Requantiser((a, b))
    out = pair.output_range(inputs)
    for rounding in dict.fromkeys((b.rounding, a.rounding)):
        candidate = ShiftStage(a.shift + b.shift, rounding, out.lo, out.hi)
        if equal_on(pair, Requantiser((candidate,)), inputs):
            # Keep the quantiser's own bounds where they are as good: they name the type.
            wider = ShiftStage(a.shift + b.shift, rounding, b.lo, b.hi)
            return wider if equal_on(pair, Requantiser((wider,)), inputs) else candidate
    return None
