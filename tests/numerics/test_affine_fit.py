"""Affine requantisers are exact wherever one is returned; thresholds always are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from finn_resnet.numerics.affine_fit import StepFunction, as_thresholds, fit_affine, realise
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, ThresholdStage
from finn_resnet.numerics.step_function import thresholds


def step_function(maps, inputs: Range) -> StepFunction:
    """Steps of scalar maps, one per channel; falling maps through -x."""
    sign, first, steps = [], [], []
    for f in maps:
        falls = f(np.array([[inputs.hi]]))[0, 0] < f(np.array([[inputs.lo]]))[0, 0]
        mirrored = Range(-inputs.hi, -inputs.lo)
        low, reached = (
            thresholds(lambda x, f=f: f(-x), mirrored) if falls else thresholds(f, inputs)
        )
        sign.append(-1 if falls else 1)
        first.append(low)
        steps.append(reached)
    return StepFunction(inputs, tuple(sign), tuple(first), tuple(steps))


def scaled(slope: float, offset: float, lo: int, hi: int):
    return lambda x: np.clip(np.round(x * slope + offset), lo, hi).astype(np.int64)


slopes = st.floats(1e-4, 0.4).flatmap(lambda s: st.sampled_from([s, -s]))


@given(st.lists(st.tuples(slopes, st.floats(-50, 50)), min_size=1, max_size=4), st.booleans())
@settings(max_examples=60)
def test_realised_stage_equals_the_map_everywhere(lines, signed: bool) -> None:
    inputs = Range(-3000, 4000)
    bounds = (-128, 127) if signed else (0, 255)
    maps = [scaled(slope, offset, *bounds) for slope, offset in lines]
    steps = step_function(maps, inputs)
    x = np.repeat(np.arange(inputs.lo, inputs.hi + 1)[:, None], len(maps), axis=1)
    expected = np.concatenate([f(x[:, :1]) for f in maps], axis=1)
    for stage in (realise(steps), as_thresholds(steps)):
        np.testing.assert_array_equal(stage(x), expected)


def test_free_slopes_need_no_thresholds() -> None:
    steps = step_function([scaled(0.01234, 3.21, 0, 255)], Range(-20000, 30000))
    assert isinstance(fit_affine(steps), AffineStage)


def test_half_even_ties_have_no_affine_form() -> None:
    steps = step_function([scaled(0.25, 0, -128, 127)], Range(-600, 600))
    assert fit_affine(steps) is None
    assert isinstance(realise(steps), ThresholdStage)
