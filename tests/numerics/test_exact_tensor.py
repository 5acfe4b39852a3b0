"""Exact tensors decide as fractions do, and never promise more than float32 keeps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.exact_tensor import ExactTensor, Term, fractions
from finn_resnet.numerics.rounding import ROUNDING_MODES, round_float, round_ratio

codes = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=12)
scales = st.floats(2.0**-12, 2.0, width=32)
modes = st.sampled_from(ROUNDING_MODES)


def tensor(values: list[int], scale: float, other: float) -> ExactTensor:
    """``n * scale + reversed(n) * other``."""
    array = np.array(values, np.int64)
    first = ExactTensor.of(array, Fraction(scale))
    return first.plus(ExactTensor.of(array[::-1], Fraction(other)))


@given(codes, scales, scales, scales, modes)
def test_rounding_is_that_of_the_exact_quotients(values, scale, other, step, mode) -> None:
    x = tensor(values, scale, other)
    exact = [
        (a * Fraction(scale) + b * Fraction(other)) / Fraction(step)
        for a, b in zip(values, values[::-1], strict=True)
    ]
    expected = [round_ratio(q.numerator, q.denominator, mode) for q in exact]
    assert x.rounded(Fraction(step), mode).tolist() == expected
    assert x.sign().tolist() == [(q > 0) - (q < 0) for q in exact]


@pytest.mark.parametrize("mode", ROUNDING_MODES)
def test_ties_of_a_free_scale_are_ties(mode) -> None:
    """n * 0.1 / (2 * 0.1) is exactly n / 2, whatever float32 makes of 0.1."""
    n = np.arange(-9, 10)
    scale = Fraction(float(np.float32(0.1)))
    found = ExactTensor.of(n, scale).rounded(2 * scale, mode)
    assert found.tolist() == [round_ratio(int(v), 2, mode) for v in n]
    assert found.tolist() == round_float(n / 2, mode).tolist()


def test_one_part_in_2_to_the_60_off_a_tie_is_no_tie() -> None:
    one, tiny = Fraction(1, 2), Fraction(1, 2**60)
    above = ExactTensor.of(np.array([1, 1]), one).plus(ExactTensor.of(np.array([1, -1]), tiny))
    assert above.rounded(Fraction(1), "ROUND").tolist() == [1, 0]
    assert above.values.tolist() == [0.5, 0.5]  # float64 cannot tell


@given(codes, scales)
def test_float32_stays_within_its_bound(values, scale) -> None:
    rng = np.random.default_rng(abs(values[0]))
    weights = rng.integers(-128, 128, len(values))
    x = ExactTensor.of(np.array([values]), Fraction(scale))
    weight_scale = Fraction(float(np.float32(0.0123)))
    out = x.summed(
        lambda v: (v @ weights)[:, None],
        np.array(weight_scale, object),
        lambda v: (v @ np.abs(weights * float(weight_scale)))[:, None],
        len(values),
    )
    single = np.array(values, np.float32) * np.float32(scale)
    product = single * (weights.astype(np.float32) * np.float32(0.0123))
    total = np.float32(0)
    for value in rng.permutation(product):
        total += value
    assert abs(float(total) - out.values.item()) <= out.float32_error().item()


def test_integers_are_whole_multiples_or_refused() -> None:
    x = tensor([3, -4, 5], 0.25, 0.75)
    assert x.integers(Fraction(1, 4)).tolist() == [18, -16, 14]
    assert x.integers(Fraction(1, 8)).tolist() == [36, -32, 28]
    assert tensor([2, 4], 0.25, 0.5).integers(Fraction(1, 2)).tolist() == [5, 4]
    with pytest.raises(ValueError, match="whole multiple"):
        x.integers(Fraction(1, 3))


def test_layout_keeps_a_scale_per_channel() -> None:
    scale = fractions(np.array([1.0, 0.5])).reshape(1, 2, 1, 1)
    x = ExactTensor([Term(np.arange(12).reshape(1, 2, 2, 3), scale)], (1, 2, 2, 3))
    flat = x.mapped(lambda v: v.reshape(1, -1))
    assert flat.values.tolist() == [[0, 1, 2, 3, 4, 5, 3, 3.5, 4, 4.5, 5, 5.5]]
    total = x.summed(lambda v: v.sum(1), np.array(Fraction(1), object), lambda v: v.sum(1), 2)
    assert total.values.tolist() == [[[3, 4.5, 6], [7.5, 9, 10.5]]]
    scale = fractions(np.array([1, 2.0**-40])).reshape(1, 2, 1, 1)
    odd = ExactTensor([Term(np.arange(12).reshape(1, 2, 2, 3), scale)], (1, 2, 2, 3))
    with pytest.raises(ValueError, match="unrelated scales"):
        odd.summed(lambda v: v.sum(1), np.array(Fraction(1), object), lambda v: v.sum(1), 2)
