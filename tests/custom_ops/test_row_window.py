"""Which lane group a window row waits for, against a walk over the picture."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from finn_resnet.custom_ops.row_window import RowWindow
from finn_resnet.custom_ops.streams import window_columns
from finn_resnet.custom_ops.window import used_columns


def test_columns_grow_by_the_stride():
    assert window_columns(3, 2, 1) == 4
    assert window_columns(3, 2, 2) == 5
    assert used_columns(3, 2, 2) == [0, 1, 2, 3, 4]
    assert used_columns(1, 2, 2) == [0, 2]


@st.composite
def row_windows(draw) -> RowWindow:
    fw = draw(st.integers(2, 5))
    stride = draw(st.integers(1, fw))
    pads = draw(st.tuples(st.integers(0, fw - 1), st.integers(0, fw - 1)))
    iw = draw(st.integers(2, 12))
    assume(iw + sum(pads) >= fw)
    ow = (iw + sum(pads) - fw) // stride + 1
    ow_par = draw(st.integers(1, ow))
    lanes = draw(st.sampled_from([n for n in range(1, iw + 1) if ow_par * stride % n == 0]))
    return RowWindow(iw, ow, fw, stride, pads[0], ow_par, lanes)


@given(row_windows())
def test_every_column_is_kept_when_its_window_leaves(row):
    """At the step a window leaves, each of its columns came `age` lane groups before."""
    assume(row.problem(3) is None)
    groups = -(-row.ow // row.ow_par)
    last_step = 0
    for group in range(groups):
        leaves = group * row.step + row.lookahead
        last_step = leaves
        for j in range(row.columns):
            column = group * row.ow_par * row.stride_w + j - row.pad_left
            if 0 <= column < row.iw:
                assert leaves - row.age(j) == column // row.in_lanes
                assert 0 <= row.age(j) <= row.history
    assert row.flush == max(last_step + 1 - row.lane_groups, 0)
    # The first window of the next picture row comes later than the last of this one.
    assert row.lane_groups + row.lookahead > last_step


def test_problems_are_named():
    row = RowWindow(iw=8, ow=8, fw=3, stride_w=1, pad_left=1, ow_par=2, in_lanes=2)
    assert row.problem(3) is None
    assert "two rows" in row.problem(1)
    assert "stride" in replace(row, stride_w=4, in_lanes=4).problem(3)
    assert "inside the picture" in replace(row, ow=12).problem(3)
