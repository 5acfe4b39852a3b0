"""Adapters, pools, forks, additions and DMA: cycles by the token order, costs by the widths."""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.boards import Resources
from finn_resnet.parallelism.stream_task_cost import (
    Picture,
    adapter_cost,
    adapter_cycles,
    add_cost,
    dma_cycles,
    fork_cost,
    output_dma_cycles,
    pool_cost,
    stream_cycles,
)
from finn_resnet.transformation.stream_profile import StreamProfile

PICTURE = Picture(8, 8, 16)
profiles = st.builds(StreamProfile, lanes=st.integers(1, 8), ch_par=st.integers(1, 16))


@given(profiles, profiles)
def test_an_adapter_is_no_faster_than_either_side(source, sink):
    cycles = adapter_cycles(PICTURE, source, sink)
    assert cycles >= stream_cycles(PICTURE, source)
    assert cycles >= stream_cycles(PICTURE, sink)


def test_adapters_that_only_regroup_channels_keep_the_coarser_rate():
    assert adapter_cycles(PICTURE, StreamProfile(2, 4), StreamProfile(2, 1)) == 8 * 4 * 16
    assert adapter_cycles(PICTURE, StreamProfile(2, 1), StreamProfile(2, 16)) == 8 * 4 * 16
    # Lanes 3 and 2 share one column a step.
    assert adapter_cycles(PICTURE, StreamProfile(3, 16), StreamProfile(2, 16)) == 8 * 8


@given(profiles)
def test_equal_layouts_need_no_adapter(profile):
    assert adapter_cost(PICTURE, profile, profile) == Resources()


@given(profiles, profiles)
def test_unequal_layouts_cost_luts(source, sink):
    if source != sink:
        assert adapter_cost(PICTURE, source, sink).lut > 0


@given(st.integers(1, 64), st.integers(1, 8), st.sampled_from([1, 2, 4]))
def test_dma_moves_a_token_a_cycle_or_a_beat(ch_par, lanes, code_bytes):
    picture = Picture(4, 4, 64)
    cycles = dma_cycles(picture, StreamProfile(lanes, ch_par), code_bytes, 16)
    assert cycles >= 16 * ceil(64 / ch_par)
    assert cycles * 16 >= picture.codes * code_bytes


def test_wider_streams_cost_more_in_every_task():
    narrow, wide = StreamProfile(1, 2), StreamProfile(2, 4)

    def pool(profile, windowed):
        return pool_cost(PICTURE, profile, kind="max", taps=9, windowed=windowed, requant="").lut

    assert add_cost(PICTURE, wide, "").lut > add_cost(PICTURE, narrow, "").lut
    assert pool(wide, True) > pool(narrow, True) > pool(narrow, False)
    assert fork_cost(3).lut > fork_cost(2).lut


def test_a_partial_last_beat_takes_the_output_a_cycle_more():
    single = StreamProfile(1, 1)
    assert output_dma_cycles(Picture(4, 4, 1), single, 1, 16) == 16
    assert output_dma_cycles(Picture(4, 5, 1), single, 1, 16) == 21
