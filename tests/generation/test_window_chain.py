"""Slices and links of the window buffer, and the paper's buffer sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.generation.window_chain import WindowShape, tap_depth, window_chains


def shape(**changes) -> WindowShape:
    """A 3x3, stride 1, padded window over 16 channels of 32x32."""
    values = {
        "ich": 16,
        "ih": 32,
        "iw": 32,
        "oh": 32,
        "ow": 32,
        "fh": 3,
        "fw": 3,
        "stride": (1, 1),
        "pads": (1, 1, 1, 1),
        "ich_par": 1,
        "ow_par": 1,
        "in_lanes": 1,
        "forward": False,
    }
    return WindowShape(**(values | changes))


def test_single_column_holds_equation_20():
    """[(fh-1) * iw + fw - 1] * ich codes, in nine slices."""
    (chain,) = window_chains(shape())
    assert len(chain.slices) == 9
    assert chain.tokens == (2 * 32 + 2) * 16


def test_two_columns_make_two_chains_of_twelve_slices():
    """The lanes together: (fh-1) * iw + fw - 1, eq. 21 less the pixel that arrives meanwhile."""
    chains = window_chains(shape(ow_par=2, in_lanes=2))
    assert [len(chain.slices) for chain in chains] == [6, 6]
    assert sum(chain.tokens for chain in chains) == (2 * 32 + 2) * 16
    # With two columns, slice i feeds slice i + 2 of the row.
    for chain in chains:
        for item in chain.slices[1:]:
            if item.previous[0] == item.row:
                assert item.previous[1] - item.column == 2


def test_newest_tap_reads_the_lane_its_column_travels_in():
    chains = window_chains(shape(ow_par=2, in_lanes=2))
    for chain in chains:
        newest = chain.slices[0]
        assert newest.previous is None
        assert newest.row == 2
        assert (newest.column - 1) % 2 == chain.lane


def test_links_count_tokens_not_codes():
    (chain,) = window_chains(shape(ich_par=4))
    assert {s.link_depth for s in chain.slices if s.previous and s.previous[0] == s.row} == {4}


def test_columns_between_strides_have_no_slice():
    """1x1 kernel, stride 2, two columns: window columns 0 and 2 only; lane 1 is not read."""
    chains = window_chains(
        shape(fh=1, fw=1, stride=(2, 2), pads=(0, 0, 0, 0), ow_par=2, in_lanes=2, oh=16, ow=16)
    )
    assert [[s.column for s in chain.slices] for chain in chains] == [[2, 0], []]


@pytest.mark.parametrize(
    ("changes", "wire"),
    [
        ({}, True),
        ({"ow_par": 2, "in_lanes": 2}, False),
        ({"forward": True}, False),
        ({"stride": (2, 2), "oh": 16, "ow": 16}, False),
    ],
)
def test_pointwise_windows_of_one_lane_are_wires(changes, wire):
    point = shape(fh=1, fw=1, pads=(0, 0, 0, 0))
    assert shape(**(vars(point) | changes)).is_wire == wire


def test_window_wider_than_the_picture_needs_deeper_taps():
    narrow = shape(iw=2, ow=2, fw=5, pads=(1, 2, 1, 2))
    assert tap_depth(shape()) == 2
    assert tap_depth(narrow) > 2


@given(
    st.integers(1, 4), st.integers(1, 5), st.integers(1, 2), st.integers(1, 4), st.integers(0, 3)
)
def test_every_used_tap_has_exactly_one_slice(fh, fw, stride, ow_par, pad):
    for lanes in range(1, ow_par * stride + 1):
        if (ow_par * stride) % lanes:
            continue
        item = shape(
            fh=fh,
            fw=fw,
            stride=(stride, stride),
            pads=(pad, pad, pad, pad),
            ow_par=ow_par,
            in_lanes=lanes,
        )
        taps = [(s.row, s.column) for chain in window_chains(item) for s in chain.slices]
        assert sorted(taps) == [(i, j) for i in range(fh) for j in item.used_columns]


def test_lanes_of_unequal_length_hold_a_pixel_ahead():
    """Lane 6 of 7 has four columns of 32: its oldest tap is done a window before the others."""
    ragged = shape(ow_par=7, in_lanes=7)
    assert tap_depth(ragged) == 2 + ragged.groups
    assert tap_depth(shape(ow_par=7, in_lanes=1)) == 2
    assert tap_depth(shape(ow_par=8, in_lanes=8)) == 2
