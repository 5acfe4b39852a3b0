"""Chain segmentation against brute force over extreme codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.dsp_packing import (
    LOW_SUM,
    chain_ends,
    is_packable,
    longest_chain,
    multipliers,
    tap_order,
)
from finn_resnet.numerics.ranges import Range

CODE_RANGES = st.sampled_from([Range(-128, 127), Range(0, 255), Range(0, 15), Range(-8, 7)])


def extreme_sums(row: np.ndarray, codes: Range) -> tuple[int, int]:
    """Greatest and least dot product, by choosing the worst code for every weight."""
    return (
        int(sum(max(w * codes.lo, w * codes.hi, 0) for w in row)),
        int(sum(min(w * codes.lo, w * codes.hi, 0) for w in row)),
    )


def fits(rows: np.ndarray, codes: Range) -> bool:
    ends = [extreme_sums(row, codes) for row in rows]
    return all(high <= LOW_SUM.hi and low >= LOW_SUM.lo for high, low in ends)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40), st.integers(1, 8), CODE_RANGES
)
def test_chains_are_safe_and_as_long_as_can_be(seed, rows, taps, bits, codes):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), (rows, taps))
    ends = chain_ends(weights, codes)
    assert ends[-1] == taps
    assert list(ends) == sorted(set(ends))
    start = 0
    for end in ends:
        assert fits(weights[:, start:end], codes)
        if end < taps:
            assert not fits(weights[:, start : end + 1], codes)
        start = end


def test_real_weights_need_fewer_chains_than_the_worst_case():
    weights = np.full((1, 9), 40)
    assert chain_ends(weights, Range(0, 255)) == (9,)
    assert longest_chain(Range(-128, 127), Range(0, 255)) == 4


@pytest.mark.parametrize(
    ("weight", "codes", "ends"),
    [(-128, Range(-128, 127), (7, 14, 18)), (-128, Range(0, 255), (4, 8, 12, 16, 18))],
)
def test_worst_case_weights_are_cut_at_the_longest_chain(weight, codes, ends):
    assert chain_ends(np.full((2, 18), weight), codes) == ends


def test_every_channel_counts():
    weights = np.zeros((3, 9), int)
    weights[2] = 127
    assert len(chain_ends(weights, Range(0, 255))) == 3
    assert len(chain_ends(weights[:2], Range(0, 255))) == 1


def test_product_that_never_fits():
    with pytest.raises(ValueError, match="18-bit"):
        chain_ends(np.array([[600]]), Range(0, 255))


def test_packable_operands():
    assert is_packable(Range(-128, 127), Range(0, 255))
    assert not is_packable(Range(-128, 127), Range(0, 256))
    assert not is_packable(Range(-256, 255), Range(0, 255))


@pytest.mark.parametrize(
    ("och_par", "ow_par", "count"), [(1, 1, 1), (3, 1, 2), (4, 2, 4), (3, 3, 5), (4, 3, 6)]
)
def test_one_multiplier_for_two_products(och_par, ow_par, count):
    assert multipliers(och_par, ow_par) == count


def test_taps_follow_the_input_channels_of_a_group():
    weights = np.arange(2 * 2 * 1 * 3).reshape(2, 2, 1, 3)
    rows = tap_order(weights, 2)
    assert rows.tolist() == [[[0, 3, 1, 4], [2, 5, 0, 0]], [[6, 9, 7, 10], [8, 11, 0, 0]]]
