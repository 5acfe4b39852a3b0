"""Chain segmentation against brute force over extreme codes, and the packed sums themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.dsp_packing import (
    FOURS,
    PAIRS,
    UNPACKED,
    Packing,
    chain_ends,
    longest_chain,
    packing_of,
    tap_order,
)
from finn_resnet.numerics.ranges import Range
from tests.numerics.dsp48e2 import cascade

INT8, UINT8, INT4, UINT4 = Range(-128, 127), Range(0, 255), Range(-8, 7), Range(0, 15)
CODE_RANGES = st.sampled_from([INT8, UINT8, INT4, UINT4])
PACKINGS = st.sampled_from([PAIRS, FOURS])


def extreme_sums(row: np.ndarray, codes: Range) -> tuple[int, int]:
    """Greatest and least dot product, by choosing the worst code for every weight."""
    return (
        int(sum(max(w * codes.lo, w * codes.hi, 0) for w in row)),
        int(sum(min(w * codes.lo, w * codes.hi, 0) for w in row)),
    )


def fits(rows: np.ndarray, codes: Range, packing: Packing) -> bool:
    ends = [extreme_sums(row, codes) for row in rows]
    return all(high <= packing.sums.hi and low >= packing.sums.lo for high, low in ends)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(1, 40),
    st.integers(1, 8),
    CODE_RANGES,
    PACKINGS,
)
def test_chains_are_safe_and_as_long_as_can_be(seed, rows, taps, bits, codes, packing):
    if packing == FOURS:
        bits, codes = min(bits, 4), Range(max(codes.lo, -8), min(codes.hi, 15))
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), (rows, taps))
    ends = chain_ends(weights, codes, packing)
    assert ends[-1] == taps
    assert list(ends) == sorted(set(ends))
    start = 0
    for end in ends:
        assert fits(weights[:, start:end], codes, packing)
        if end < taps:
            assert not fits(weights[:, start : end + 1], codes, packing)
        start = end


def test_real_weights_need_fewer_chains_than_the_worst_case():
    assert chain_ends(np.full((1, 9), 40), UINT8, PAIRS) == (9,)
    assert longest_chain(INT8, UINT8, PAIRS) == 4
    assert chain_ends(np.full((1, 36), -1), UINT4, FOURS) == (36,)
    assert longest_chain(INT4, UINT4, FOURS) == 8


@pytest.mark.parametrize(
    ("weight", "codes", "packing", "ends"),
    [
        (-128, INT8, PAIRS, (7, 14, 18)),
        (-128, UINT8, PAIRS, (4, 8, 12, 16, 18)),
        (-8, INT4, FOURS, (15, 18)),
        (-8, UINT4, FOURS, (8, 16, 18)),
        (-7, UINT4, FOURS, (9, 18)),
        (-128, UINT8, UNPACKED, (18,)),
    ],
)
def test_worst_case_weights_are_cut_at_the_longest_chain(weight, codes, packing, ends):
    assert chain_ends(np.full((2, 18), weight), codes, packing) == ends
    assert longest_chain(Range(weight, 0), codes, packing) >= ends[0]


def test_every_channel_counts():
    weights = np.zeros((3, 9), int)
    weights[2] = 127
    assert len(chain_ends(weights, UINT8, PAIRS)) == 3
    assert len(chain_ends(weights[:2], UINT8, PAIRS)) == 1


def test_product_that_never_fits():
    with pytest.raises(ValueError, match="18 bits"):
        chain_ends(np.array([[600]]), UINT8, PAIRS)
    with pytest.raises(ValueError, match="11 bits"):
        chain_ends(np.array([[-128]]), UINT4, FOURS)


@pytest.mark.parametrize(
    ("weights", "codes", "packing"),
    [
        (INT4, UINT4, FOURS),
        (INT4, INT4, FOURS),
        (Range(-1, 1), Range(0, 3), FOURS),
        (Range(-9, 7), UINT4, PAIRS),
        (INT4, Range(0, 16), PAIRS),
        (INT8, UINT8, PAIRS),
        (INT8, Range(0, 256), UNPACKED),
        (Range(-256, 255), UINT8, UNPACKED),
    ],
)
def test_operands_choose_the_packing(weights, codes, packing):
    assert packing_of(weights, codes) == packing


@pytest.mark.parametrize(
    ("packing", "och_par", "ow_par", "group", "count"),
    [
        (UNPACKED, 3, 2, 1, 6),
        (PAIRS, 1, 1, 1, 1),
        (PAIRS, 3, 1, 1, 2),
        (PAIRS, 4, 2, 2, 4),
        (PAIRS, 3, 3, 2, 5),
        (PAIRS, 4, 3, 2, 6),
        (FOURS, 1, 1, 1, 1),
        (FOURS, 4, 1, 1, 2),
        (FOURS, 1, 4, 3, 2),
        (FOURS, 2, 2, 2, 1),
        (FOURS, 16, 2, 2, 8),
        (FOURS, 3, 3, 3, 3),
        (FOURS, 6, 5, 2, 8),
        (FOURS, 2, 7, 2, 4),
    ],
)
def test_multipliers_of_an_array(packing, och_par, ow_par, group, count):
    assert packing.column_group(och_par, ow_par) == group
    assert packing.multipliers(och_par, ow_par) == count


def test_products_of_a_packing():
    assert [packing.products_of(8) for packing in (UNPACKED, PAIRS, FOURS)] == [1, 2, 4]
    assert [packing.products_of(1) for packing in (UNPACKED, PAIRS, FOURS)] == [1, 2, 3]


@given(st.integers(1, 40), st.integers(1, 20))
def test_packing_tighter_never_costs_a_multiplier(och_par, ow_par):
    products = och_par * ow_par
    assert UNPACKED.multipliers(och_par, ow_par) == products
    assert PAIRS.multipliers(och_par, ow_par) == -(-products // 2)
    assert -(-products // 4) <= FOURS.multipliers(och_par, ow_par) <= -(-products // 2)


TILES = [(PAIRS, 1, 2), (PAIRS, 2, 1)]
TILES += [(FOURS, 2, 2), (FOURS, 1, 2), (FOURS, 3, 1), (FOURS, 2, 1), (FOURS, 1, 3)]


@st.composite
def tile_operands(draw):
    """A tile, operands that lean to the corners of their ranges, and the packing."""
    packing, channels, columns = draw(st.sampled_from(TILES))
    signed = draw(st.booleans())
    weights, codes = (INT4, INT4 if signed else UINT4)
    if packing == PAIRS:
        weights, codes = (INT8, INT8 if signed else UINT8)
    taps = draw(st.integers(1, 40))

    def rows(count, values):
        value = st.one_of(st.sampled_from([values.lo, values.hi, 0]), st.integers(*values))
        row = st.lists(value, min_size=taps, max_size=taps)
        return draw(st.lists(row, min_size=count, max_size=count))

    return packing, rows(channels, weights), codes, rows(columns, codes)


@given(tile_operands())
def test_chains_give_back_every_dot_product(drawn):
    packing, weights, codes, x = drawn
    total = np.zeros((len(weights), len(x)), int)
    start = 0
    for end in chain_ends(np.array(weights), codes, packing):
        total += cascade([w[start:end] for w in weights], [c[start:end] for c in x], packing)
        start = end
    np.testing.assert_array_equal(total, np.array(weights) @ np.array(x).T)


@pytest.mark.parametrize(("packing", "channels", "columns"), TILES)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("weight_end", [0, 1])
def test_one_tap_more_than_the_longest_chain_is_wrong(
    packing, channels, columns, signed, weight_end
):
    weights = (INT8, INT4)[packing == FOURS]
    codes = ((UINT8, INT8), (UINT4, INT4))[packing == FOURS][signed]
    weight = weights[weight_end]
    ends = chain_ends(np.full((1, 100), weight), codes, packing)
    x = max(codes, key=lambda code: abs(weight * code))
    for taps, exact in ((ends[0], True), (ends[0] + 1, False)):
        rows = np.full((channels, taps), weight), np.full((columns, taps), x)
        found = cascade(rows[0].tolist(), rows[1].tolist(), packing)
        assert (found == (rows[0] @ rows[1].T).tolist()) is exact


def test_a_middle_field_at_its_very_least_number_would_lose_the_borrow():
    """Why fours' sums end at -1023: -1024 over a negative sum wraps the field above."""
    sums = [-1, FOURS.sums.lo - 1, 0]
    found = cascade([[total] for total in sums], [[1]], FOURS)
    assert found[2] != [0]
    sums[1] += 1
    assert cascade([[total] for total in sums], [[1]], FOURS) == [[-1], [-1023], [0]]


def test_taps_follow_the_input_channels_of_a_group():
    weights = np.arange(2 * 2 * 1 * 3).reshape(2, 2, 1, 3)
    rows = tap_order(weights, 2)
    assert rows.tolist() == [[[0, 3, 1, 4], [2, 5, 0, 0]], [[6, 9, 7, 10], [8, 11, 0, 0]]]
