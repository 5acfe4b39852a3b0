"""Integer rounding equals numpy's float rounding wherever float is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qonnx.custom_op.general.intquant import resolve_rounding_mode

from finn_resnet.numerics.rounding import ROUNDING_MODES, round_shift


@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50),
    st.integers(-3, 20),
    st.sampled_from(ROUNDING_MODES),
)
def test_equals_the_rounding_qonnx_applies(codes: list[int], shift: int, rounding: str) -> None:
    x = np.array(codes)
    expected = resolve_rounding_mode(rounding)(x * 2.0**-shift)
    np.testing.assert_array_equal(round_shift(x, shift, rounding), expected.astype(np.int64))


@pytest.mark.parametrize(("x", "expected"), [(1, 0), (3, 2), (5, 2), (-1, 0), (-3, -2), (-5, -2)])
def test_ties_go_to_the_even_neighbour(x: int, expected: int) -> None:
    assert round_shift(np.array([x]), 1, "ROUND")[0] == expected
