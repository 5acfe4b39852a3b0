"""Box plots of codes: the figures are those of the codes, the picture spans the type."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.ranges import Range
from finn_resnet.report.value_ranges import ValueProfile, draw_value_ranges
from finn_resnet.verification.coverage import Coverage


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=60))
def test_quartiles_are_the_codes_own(codes: list[int]) -> None:
    counts = np.bincount(np.array(codes) + 128, minlength=256)
    profile = ValueProfile.of_counts("x", -128, counts)
    inverted = [np.quantile(codes, share, method="inverted_cdf") for share in (0.25, 0.5, 0.75)]
    assert profile.quartiles == (min(codes), *inverted, max(codes))
    assert (profile.lo, profile.hi) == (-128, 127)
    assert profile.at_lo == pytest.approx(codes.count(-128) / len(codes))
    assert profile.at_hi == pytest.approx(codes.count(127) / len(codes))


def test_only_typical_pictures_are_counted() -> None:
    codes = np.array([[3, 3, 0], [15, 15, 15]])
    entry = Coverage.of(codes, Range(0, 15), quantised=True, typical=1)
    assert entry.counts.tolist() == [1, 0, 0, 2, *[0] * 12]
    assert entry.highest == 15
    both = entry.joined(Coverage.of(codes, Range(0, 15), quantised=True, typical=2))
    assert both.counts[15] == 3 and both.as_dict()["counts"] == both.counts.tolist()
    none = Coverage.of(codes, Range(0, 15), quantised=True)
    assert none.as_dict()["counts"] is None


def test_the_picture_spans_the_type_and_escapes_names() -> None:
    whole = ValueProfile("a<b", -8, 7, (-8, -2, 0, 3, 7), 0.25, 0.125)
    point = ValueProfile("c", 0, 0, (0, 0, 0, 0, 0), 1.0, 1.0)
    picture = draw_value_ranges([whole, point], "Weights")
    assert "a&lt;b" in picture and "25.0 % at -8, 12.5 % at 7" in picture
    grid, whisker = (
        re.search(rf'class="{kind}" x1="([\d.]+)" x2="([\d.]+)"', picture).groups()
        for kind in ("grid", "whisker")
    )
    assert [float(x) for x in grid] == [float(x) for x in whisker]
