"""StreamConcat: order of the channels, legal tokens, ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.custom_ops.stream_concat import concat_channels
from finn_resnet.custom_ops.streams import PictureStream
from finn_resnet.numerics.ranges import Range
from tests.custom_ops.test_custom_ops import make


def joined(parts: list[int], **attributes: object):
    shape = {"h": 3, "w": 4, "ch": sum(parts), "parts": parts}
    return make("StreamConcat", len(parts), **{**shape, **attributes})


@given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(1, 40))
def test_no_token_holds_channels_of_two_parts(parts: list[int], ch_par: int) -> None:
    found = concat_channels(tuple(parts), ch_par)
    assert 1 <= found <= ch_par and found <= min(parts)
    assert all(part % found == 0 for part in parts[:-1])
    larger = range(found + 1, min(ch_par, *parts) + 1)
    assert all(any(part % k for part in parts[:-1]) for k in larger)
    assert joined(parts, ch_par=found).problems() == []


def test_parts_keep_their_order_and_travel_alike() -> None:
    rng = np.random.default_rng(1)
    concat = joined([4, 2, 3], ch_par=2, lanes=3)
    codes = [rng.choice([-128, 127, 255], (2, 3, 4, part)) for part in (4, 2, 3)]
    np.testing.assert_array_equal(concat.compute(codes)[0], np.concatenate(codes, axis=3))
    assert concat.input_streams()[2] == PictureStream(3, 4, 3, 3, 2)
    assert concat.output_streams() == (PictureStream(3, 4, 9, 3, 2),)
    ranges = [Range(0, 255), Range(-8, 7), Range(3, 4)]
    assert concat.output_ranges(ranges) == [Range(-8, 255)]
    assert concat.output_ranges([None, *ranges[1:]]) == [None]


@pytest.mark.parametrize(
    ("parts", "attributes", "problem"),
    [
        ([4, 2], {"ch_par": 3}, "ch_par = 3 does not divide the parts"),
        ([4, 2], {"ch": 7}, "must be two or more that add up to ch = 7"),
        ([4], {}, "must be two or more"),
        ([4, 3], {"ch_par": 4}, "use 2"),
    ],
)
def test_what_does_not_fit_is_refused(parts: list, attributes: dict, problem: str) -> None:
    assert any(problem in text for text in joined(parts, **attributes).problems())
