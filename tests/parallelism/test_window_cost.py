"""Window buffers: rate from both ends, slices and links from the tap columns."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.parallelism.window_cost import (
    WindowShape,
    used_tap_columns,
    window_columns,
    window_cost,
    window_cycles,
)

SHAPE = WindowShape(ich=16, ih=32, iw=32, oh=32, ow=32, fh=3, fw=3)
STRIDED = replace(SHAPE, oh=16, ow=16, stride_w=2)


def test_columns_grow_by_the_stride():
    assert window_columns(SHAPE, 2) == 4
    assert window_columns(STRIDED, 2) == 5
    assert used_tap_columns(STRIDED, 2) == [0, 1, 2, 3, 4]
    narrow = replace(STRIDED, fh=1, fw=1)
    assert used_tap_columns(narrow, 2) == [0, 2]


def test_a_strided_buffer_is_bound_by_its_input():
    assert window_cycles(SHAPE, 1, 2, 2) == 8192
    assert window_cycles(STRIDED, 1, 2, 2) == 8192
    assert window_cycles(STRIDED, 1, 2, 4) == 4096
    assert window_cycles(STRIDED, 1, 2, 1) == 16384


@given(st.integers(1, 8), st.integers(1, 16))
def test_more_columns_or_channels_cost_more(ow_par, ich_par):
    cost = window_cost(SHAPE, ich_par, ow_par, 1, "lut")
    assert window_cost(SHAPE, ich_par, ow_par + 1, 1, "lut").lut > cost.lut
    assert cost.bram36 == cost.dsp == 0


def test_a_1x1_buffer_is_one_task():
    single = replace(SHAPE, fh=1, fw=1)
    assert window_cost(single, 4, 1, 1, "bram").lut < 100
    assert window_cost(SHAPE, 4, 1, 1, "bram").lut > 500


def test_long_links_go_where_the_style_says():
    wide = replace(SHAPE, iw=224)
    in_bram, in_luts = (window_cost(wide, 4, 1, 1, style) for style in ("bram", "lut"))
    assert in_bram.bram36 >= 1 and in_luts.bram36 == 0
    assert in_luts.lut > in_bram.lut
