"""Requantiser stages, their JSON form and their ranges."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import (
    AffineStage,
    Requantiser,
    ShiftStage,
    ThresholdStage,
)

STAGES = [
    ShiftStage(3, "FLOOR", -8, 7),
    AffineStage((3, -5), (10, 20), 2, -100, 100),
    ThresholdStage(-1, (1, -1), ((0, 5, 9), (-4, 0, 2))),
]


def test_json_round_trip_and_evaluation() -> None:
    chain = Requantiser.of(STAGES)
    again = Requantiser.from_json(chain.to_json())
    x = np.arange(-300, 300).reshape(-1, 1).repeat(2, axis=1)
    assert again == chain
    np.testing.assert_array_equal(again(x), chain(x))
    assert Requantiser.from_json("") == Requantiser() and Requantiser().to_json() == ""


def test_one_channel_is_a_column_of_all() -> None:
    chain = Requantiser.of(STAGES)
    x = np.arange(-300, 300).reshape(-1, 1)
    both = chain(x.repeat(2, axis=1))
    for channel in range(2):
        np.testing.assert_array_equal(chain.of_channel(channel)(x)[:, 0], both[:, channel])
    assert chain.channels == 2


def test_output_range_covers_falling_channels() -> None:
    chain = Requantiser((AffineStage((1, -1), (0, 0), 0, -1000, 1000),))
    assert chain.output_range(Range(-3, 7)) == Range(-7, 7)


def test_thresholds_clip_by_dropping_rows() -> None:
    stage = STAGES[2]
    x = np.arange(-20, 20).reshape(-1, 1).repeat(2, axis=1)
    np.testing.assert_array_equal(stage.clipped(0, 1)(x), np.clip(stage(x), 0, 1))
    with pytest.raises(ValueError, match="never reaches"):
        stage.clipped(5, 6)


@pytest.mark.parametrize("text", ['[{"kind": "lookup"}]', '[{"kind":"shift","shift":1}]'])
def test_damaged_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        Requantiser.from_json(text)


@pytest.mark.parametrize(
    ("lo", "hi", "bits", "name"),
    [
        (0, 0, 1, "BINARY"),
        (0, 127, 7, "UINT7"),
        (0, 255, 8, "UINT8"),
        (-128, 127, 8, "INT8"),
        (-129, 0, 9, "INT9"),
        (-1, 0, 1, "INT2"),
        (-5, 300, 10, "INT10"),
    ],
)
def test_range_widths(lo: int, hi: int, bits: int, name: str) -> None:
    assert Range(lo, hi).bits == bits
    assert Range(lo, hi).datatype.name == name
