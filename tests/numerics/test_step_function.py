"""The threshold proof: equal means equal everywhere, and fusing never changes a code."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser, ShiftStage
from finn_resnet.numerics.rounding import ROUNDING_MODES
from finn_resnet.numerics.step_function import equal_on, fuse, thresholds


@st.composite
def shift_stages(draw) -> ShiftStage:
    lo = draw(st.integers(-130, 20))
    hi = draw(st.integers(lo, lo + 300))
    return ShiftStage(draw(st.integers(-2, 6)), draw(st.sampled_from(ROUNDING_MODES)), lo, hi)


chains = st.lists(shift_stages(), min_size=1, max_size=4).map(Requantiser.of)
input_ranges = st.tuples(st.integers(-3000, 3000), st.integers(0, 4000)).map(
    lambda pair: Range(pair[0], pair[0] + pair[1])
)


def every_input(inputs: Range) -> np.ndarray:
    return np.arange(inputs.lo, inputs.hi + 1)[:, None]


@given(chains, input_ranges)
def test_fusing_keeps_every_code(chain: Requantiser, inputs: Range) -> None:
    x = every_input(inputs)
    fused = fuse(chain, inputs)
    assert len(fused.stages) <= len(chain.stages)
    np.testing.assert_array_equal(fused(x), chain(x))


@given(chains, chains, input_ranges)
def test_proof_agrees_with_trying_every_input(a, b, inputs: Range) -> None:
    x = every_input(inputs)
    assert equal_on(a, b, inputs) == np.array_equal(a(x), b(x))


@given(chains, input_ranges)
def test_thresholds_rebuild_the_map(chain: Requantiser, inputs: Range) -> None:
    first, steps = thresholds(chain, inputs)
    x = every_input(inputs)
    np.testing.assert_array_equal(first + np.searchsorted(steps, x, side="right"), chain(x))


def test_double_rounding_is_kept() -> None:
    chain = Requantiser((ShiftStage(2, "ROUND", -128, 127), ShiftStage(1, "ROUND", -128, 127)))
    assert fuse(chain, Range(-400, 400)) == chain


def test_clip_of_an_already_clipped_code_vanishes() -> None:
    chain = Requantiser((ShiftStage(5, "ROUND", 0, 255), ShiftStage(0, "ROUND", -128, 127)))
    assert fuse(chain, Range(-9999, 9999)).stages == (ShiftStage(5, "ROUND", 0, 127),)
