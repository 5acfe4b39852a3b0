"""Configurations are read from JSON, reuse others, and are refused with the place at fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from finn_resnet.config import load_config, shipped_configs
from finn_resnet.errors import UserError


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_every_shipped_config_loads_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {"resnet8_kv260", "resnet20_ultra96_paper"} <= set(shipped_configs())
    for name, path in shipped_configs().items():
        assert load_config(name) == load_config(path) == load_config(f"{name}.json")
        assert load_config(name).mode == ("paper" if name.endswith("_paper") else "full")


def test_extends_takes_a_shipped_name_and_merges_tables(tmp_path):
    write(tmp_path / "base.json", {"extends": "resnet8_kv260", "caps": {"lut": 50, "dsp": 60}})
    path = write(tmp_path / "own.json", {"extends": "base.json", "caps": {"lut": 40}})
    config = load_config(path)
    assert (config.model, config.board) == ("resnet8", "KV260")
    assert (config.caps["lut"], config.caps["dsp"], config.caps["uram"]) == (40, 60, 90)


def test_null_gives_a_key_its_default_back(tmp_path):
    write(tmp_path / "base.json", {"extends": "resnet8_kv260", "mode": "paper", "target_fps": 5})
    path = write(tmp_path / "own.json", {"extends": "base.json", "mode": None, "target_fps": None})
    assert load_config(path).mode == "full"
    assert load_config(path).target_fps is None


def test_overrides_win_over_the_file(tmp_path):
    path = write(
        tmp_path / "own.json",
        {"extends": "resnet8_kv260", "optimisations": {"absorb_add": False}},
    )
    config = load_config(path, {"board": "Ultra96", "optimisations": {"merge_downsample": False}})
    assert config.board == "Ultra96"
    assert config.optimisations["absorb_add"] is False
    assert config.optimisations["merge_downsample"] is False


def test_input_files_start_at_the_config_that_names_them(tmp_path, monkeypatch):
    (tmp_path / "configs").mkdir()
    write(
        tmp_path / "configs" / "base.json",
        {"model": "../nets/a.onnx", "board": "KV260", "verify_images": "set.npz"},
    )
    path = write(tmp_path / "own.json", {"extends": "configs/base.json", "output_dir": "out"})
    monkeypatch.chdir(tmp_path.parent)
    config = load_config(path)
    assert Path(config.model).resolve() == tmp_path / "nets" / "a.onnx"
    assert Path(config.verify_images) == tmp_path / "configs" / "set.npz"
    assert config.output_dir == "out"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"extends": "resnet8_kv260", "target_fp": 3}, "'target_fp'; did you mean 'target_fps'"),
        ({"board": "KV260"}, "'model' is missing"),
        ({"extends": 3}, "'extends': 3 is not legal"),
        ({"extends": "resnet8_kv26"}, "did you mean 'resnet8_kv260'"),
        ({"extends": "own.json"}, "circle: own.json -> own.json"),
        ("{", "is not JSON: .* at line 1"),
        ("[1]", "one JSON object"),
        ('{"mode": "full", "mode": "paper"}', "'mode' is given twice"),
        ('{"target_fps": NaN}', "NaN, which JSON does not allow"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_malformed_configs_are_refused_in_one_line(tmp_path, content, message):
    with pytest.raises(UserError, match=message) as refusal:
        load_config(write(tmp_path / "own.json", content))
    assert "\n" not in str(refusal.value)


def test_a_longer_circle_is_named_whole(tmp_path):
    write(tmp_path / "a.json", {"extends": "b.json"})
    write(tmp_path / "b.json", {"extends": "c.json"})
    write(tmp_path / "c.json", {"extends": "b.json"})
    with pytest.raises(UserError, match=r"b\.json -> c\.json -> b\.json"):
        load_config(tmp_path / "a.json")


def test_a_config_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "own.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read"):
        load_config(tmp_path / "own.json")
