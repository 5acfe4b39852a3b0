"""Coefficients: every one has a source, a user's file is checked, costs follow a replacement."""

import json

import pytest

from finn_resnet.boards import RESOURCE_NAMES, Resources
from finn_resnet.errors import UserError
from finn_resnet.parallelism.coefficients import (
    calibrated,
    coefficients,
    priced,
    read_coefficients,
    replaced_coefficients,
)
from finn_resnet.parallelism.memory_cost import fifo_cost


def test_every_coefficient_says_where_it_comes_from():
    for name, entry in coefficients().items():
        assert entry["source"] and entry["unit"], name
        assert ("value" in entry) != ("low" in entry), name
        if "low" in entry:
            assert 0 <= entry["low"] <= entry["high"] and entry["resource"] in RESOURCE_NAMES, name


def test_costs_follow_a_replaced_coefficient_and_come_back():
    before = fifo_cost(64, 64)
    with replaced_coefficients({"fifo_control_lut": {"low": 1000, "high": 2000}}):
        assert priced("fifo_control_lut", 2) == Resources(lut=4000, lut_low=2000)
        assert fifo_cost(64, 64).lut > before.lut + 1900
    assert fifo_cost(64, 64) == before


def test_an_empty_choice_is_the_shipped_one():
    with calibrated(None):
        assert coefficients()["task_lut"]["high"] > 0


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"tasklut": {"low": 1}}, "task_lut"),
        ({"task_lut": {"low": 50, "high": 40}}, "low the smaller"),
        ({"task_lut": {"low": -1}}, "from 0 up"),
        ({"task_lut": {"high": True}}, "from 0 up"),
        ({"task_lut": {"higher": 3}}, "high"),
        ({"task_lut": 3}, "object"),
        ({"srl_depth": {"value": "deep"}}, "from 0 up"),
        ({"bram36_shapes": {"value": [512]}}, "must be like"),
        ({"task_depths": {"value": {"conv1": -2}}}, "must be like"),
        ([1], "object"),
    ],
)
def test_a_wrong_file_is_refused_with_its_entry(entries, problem, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(UserError, match=problem):
        read_coefficients(path)


def test_all_wrong_entries_are_named_at_once(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"task_lut": {"low": -1}, "task_ff": {"low": -1}}))
    with pytest.raises(UserError, match=r"task_lut.*task_ff"):
        read_coefficients(path)
    path.write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        read_coefficients(path)
