"""The extra `train`: what it installs is what is asked for, and its absence is one line."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from finn_resnet.cli import run
from finn_resnet.training.extras import REQUIRED_PACKAGES

CHECKOUT = Path(__file__).resolve().parents[2]


def test_required_packages_are_those_of_the_extra() -> None:
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    lines = setup["options.extras_require"]["train"].split("\n")
    listed = {re.split(r"[<>=]", line)[0] for line in lines if line and not line.startswith("#")}
    assert set(REQUIRED_PACKAGES) == listed


@pytest.mark.parametrize(
    ("absent", "named"),
    [({"torch", "brevitas", "onnxoptimizer", "PIL"}, "torch, brevitas"), ({"PIL"}, "pillow:")],
)
def test_a_missing_extra_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path, absent: set[str], named: str
) -> None:
    monkeypatch.setattr(
        "finn_resnet.training.extras.find_spec", lambda name: None if name in absent else name
    )
    monkeypatch.chdir(tmp_path)
    assert run(["train", "--data", "anything"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert named in err and "pip install 'finn_resnet[train]'" in err
    assert list(tmp_path.iterdir()) == []
