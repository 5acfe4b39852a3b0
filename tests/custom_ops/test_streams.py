"""Words of FINN's streams against the order the architecture gives for tokens and lanes."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.custom_ops.streams import (
    BeatStream,
    PictureStream,
    WeightStream,
    WindowStream,
)

small = st.integers(1, 5)


def codes(shape: tuple[int, ...]) -> np.ndarray:
    """Codes that are all different and never 0, so that a misplaced one shows."""
    return np.arange(1, np.prod(shape) + 1, dtype=np.int64).reshape(shape)


@st.composite
def pictures(draw) -> PictureStream:
    h, w, ch = draw(small), draw(st.integers(1, 7)), draw(st.integers(1, 7))
    return PictureStream(h, w, ch, draw(st.integers(1, w)), draw(st.integers(1, ch)))


@st.composite
def windows(draw) -> WindowStream:
    oh, ow, ch = draw(small), draw(st.integers(1, 7)), draw(small)
    fh, fw, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return WindowStream(
        oh, ow, fh, fw, ch, stride, draw(st.integers(1, ow)), draw(st.integers(1, ch))
    )


@st.composite
def weights(draw) -> WeightStream:
    och, ich = draw(small), draw(small)
    fh, fw, repeats = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(small)
    return WeightStream(
        och, fh, fw, ich, draw(st.integers(1, och)), draw(st.integers(1, ich)), repeats
    )


@given(pictures())
def test_a_picture_word_holds_the_lanes_side_by_side(stream):
    tensor = codes((3, stream.h, stream.w, stream.ch))
    words = stream.fold(tensor)
    assert words.shape == (3, *stream.words, stream.entries)
    for frame, h, w, c in np.ndindex(tensor.shape):
        lane, entry = w % stream.lanes, c % stream.ch_par
        word = words[frame, h, w // stream.lanes, c // stream.ch_par]
        assert word[lane * stream.ch_par + entry] == tensor[frame, h, w, c]
    assert np.count_nonzero(words) == tensor.size
    assert np.array_equal(stream.unfold(words), tensor)


@given(windows())
def test_a_window_word_merges_the_windows_of_neighbouring_outputs(stream):
    """Windows cut from one picture, so that what neighbours share is the same code."""
    height = stream.oh + stream.fh - 1
    width = (stream.ow - 1) * stream.stride_w + stream.fw
    picture = codes((2, height, width, stream.ch))
    tensor = np.empty((2, stream.oh, stream.ow, stream.fh, stream.fw, stream.ch), np.int64)
    for oh, ow in np.ndindex(stream.oh, stream.ow):
        first = ow * stream.stride_w
        tensor[:, oh, ow] = picture[:, oh : oh + stream.fh, first : first + stream.fw]
    words = stream.fold(tensor.reshape(2, stream.oh, stream.ow, -1))
    assert words.shape == (2, *stream.words, stream.entries)
    assert np.array_equal(stream.unfold(words), tensor.reshape(2, stream.oh, stream.ow, -1))
    for frame, oh, ow, i, j, c in np.ndindex(tensor.shape):
        column = (ow % stream.ow_par) * stream.stride_w + j
        index = (i * stream.columns + column) * stream.ch_par + c % stream.ch_par
        word = words[frame, oh, ow // stream.ow_par, c // stream.ch_par]
        assert word[index] == tensor[frame, oh, ow, i, j, c]


@given(weights())
def test_a_weight_word_serves_one_iteration(stream):
    tensor = codes(stream.shape)
    words = stream.fold(tensor)
    assert words.shape == (1, *stream.words, stream.entries)
    taps = stream.fh * stream.fw
    for o, i, j, c in np.ndindex(tensor.shape):
        word = words[0, :, c // stream.ich_par, o // stream.och_par]
        entry = (o % stream.och_par * stream.ich_par + c % stream.ich_par) * taps
        assert (word[:, entry + i * stream.fw + j] == tensor[o, i, j, c]).all()
    assert np.array_equal(stream.unfold(words), tensor)


def test_weights_that_change_between_repetitions_are_refused():
    stream = WeightStream(2, 1, 1, 2, 1, 2, repeats=3)
    words = stream.fold(codes(stream.shape)).copy()
    words[0, 2, 0, 0, 1] += 1
    with pytest.raises(ValueError, match="between its repetitions"):
        stream.unfold(words)


@given(small, small, small, st.sampled_from([1, 2, 4]))
def test_beats_hold_the_picture_in_memory_order(h, w, ch, code_bytes):
    stream = BeatStream(h, w, ch, code_bytes, beat_bytes=16)
    tensor = codes((3, h, w, ch))
    words = stream.fold(tensor)
    assert words.shape == (3, ceil(h * w * ch * code_bytes / 16), 16 // code_bytes)
    for frame, filled in enumerate(words.reshape(3, -1)):
        assert np.array_equal(filled[: h * w * ch], tensor[frame].ravel())
        assert not filled[h * w * ch :].any()
    assert np.array_equal(stream.unfold(words), tensor)
