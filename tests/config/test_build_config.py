"""`BuildConfig` holds checked values and refuses keys that contradict each other."""

from __future__ import annotations

import dataclasses

import pytest

from finn_resnet.config import BuildConfig
from finn_resnet.config.keys import KEYS
from finn_resnet.errors import UserError


def test_every_field_has_its_key_and_a_legal_default():
    assert [field.name for field in dataclasses.fields(BuildConfig)] == list(KEYS)
    config = BuildConfig(model="resnet8", board="KV260")
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value is not None:
            assert KEYS[field.name].kind.check(field.name, value) == value


def test_tables_are_completed_with_their_defaults():
    config = BuildConfig("resnet8", "KV260", optimisations={"absorb_add": "accumulator"})
    assert config.optimisations == {
        "merge_downsample": True,
        "forward_window_buffer": True,
        "absorb_add": "accumulator",
    }


def test_as_dict_builds_the_same_config():
    config = BuildConfig("resnet8", "KV260", caps={"lut": 55}, steps=["step_a"], target_fps=100)
    assert BuildConfig(**config.as_dict()) == config


def test_a_default_is_not_shared_between_configs():
    first = BuildConfig("resnet8", "KV260")
    first.caps["lut"] = 1.0
    assert BuildConfig("resnet8", "KV260").caps["lut"] == 70.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "'model' is missing"),
        ({"board": 3}, "'board': 3 is not legal"),
        ({"mode": None}, "'mode': None is not legal"),
        ({"mode": "fast"}, 'one of "full", "paper"'),
        ({"synth_clk_period_ns": -4}, "-4 is not legal"),
        ({"caps": {"dsp": 120}}, "at most 100"),
        ({"simulation_frames": 2}, "at least 3"),
        ({"top_name": "3d-net"}, "cannot name the C"),
        ({"folding_config_file": "f.json", "target_fps": 10}, "contradict"),
        ({"verify_steps": [], "verify_images": "a.npz"}, "contradict"),
        ({"verify_steps": [], "verify_num_images": 3}, "contradict"),
        ({"input_mean": [0.4, 0.5], "input_std": [1, 1, 1]}, "2 and 3 channels"),
    ],
)
def test_illegal_and_contradictory_values_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        BuildConfig(**{"model": "resnet8", "board": "KV260", **changes})


def test_replace_checks_again():
    config = BuildConfig("resnet8", "KV260")
    assert config.replace(mode="paper").mode == "paper"
    with pytest.raises(UserError):
        config.replace(mode="papers")


def test_the_clock_is_the_period_turned_round():
    assert BuildConfig("resnet8", "KV260").clock_mhz is None
    for mhz in (214.3, 250, 333.333333, 100):
        assert BuildConfig("resnet8", "KV260", synth_clk_period_ns=1000 / mhz).clock_mhz == mhz
