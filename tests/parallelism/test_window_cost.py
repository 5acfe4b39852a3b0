"""Window buffers: rate from both ends, slices, rows and links from the tap columns."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.parallelism.window_cost import (
    WindowFactors,
    WindowShape,
    window_cost,
    window_cycles,
)

SHAPE = WindowShape(ich=16, ih=32, iw=32, oh=32, ow=32, fh=3, fw=3, pad_left=1)
STRIDED = replace(SHAPE, oh=16, ow=16, stride_w=2)
STYLES = ("slices", "rows")


def test_a_strided_buffer_is_bound_by_its_input():
    assert window_cycles(SHAPE, WindowFactors(1, 2, 2)) == 8192
    assert window_cycles(STRIDED, WindowFactors(1, 2, 2)) == 8192
    assert window_cycles(STRIDED, WindowFactors(1, 2, 4)) == 4096
    assert window_cycles(STRIDED, WindowFactors(1, 2, 1)) == 16384


def test_rows_are_flushed_once_a_frame():
    assert window_cycles(SHAPE, WindowFactors(1, 2, 2, buffer_style="rows")) == 8192 + 16
    assert window_cycles(SHAPE, WindowFactors(4, 2, 2, buffer_style="rows")) == 2048 + 4


@pytest.mark.parametrize("style", STYLES)
@given(ow_par=st.integers(1, 8), ich_par=st.integers(1, 16))
def test_more_columns_cost_more(style, ow_par, ich_par):
    factors = WindowFactors(ich_par, ow_par, 1, "lut", style)
    cost = window_cost(SHAPE, factors)
    assert window_cost(SHAPE, replace(factors, ow_par=ow_par + 1)).lut > cost.lut
    assert cost.bram36 == cost.dsp == 0


@given(ow_par=st.integers(1, 8), ich_par=st.integers(1, 16))
def test_rows_cost_less_than_slices(ow_par, ich_par):
    slices = WindowFactors(ich_par, ow_par, ow_par, "lut")
    rows = replace(slices, buffer_style="rows")
    assert window_cost(SHAPE, rows).lut < window_cost(SHAPE, slices).lut


def test_a_1x1_buffer_is_one_task():
    single = replace(SHAPE, fh=1, fw=1, pad_left=0)
    assert window_cost(single, WindowFactors(4)).lut < 100
    assert window_cost(SHAPE, WindowFactors(4)).lut > 500


@pytest.mark.parametrize("style", STYLES)
def test_long_links_go_where_the_style_says(style):
    wide = replace(SHAPE, iw=224)
    in_bram, in_luts = (
        window_cost(wide, WindowFactors(4, 1, 1, memory, style)) for memory in ("bram", "lut")
    )
    assert in_bram.bram36 >= 1 and in_luts.bram36 == 0
    assert in_luts.lut > in_bram.lut
