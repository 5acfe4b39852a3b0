"""The confusion matrix and its picture."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from finn_resnet.cli import run
from finn_resnet.errors import UserError
from finn_resnet.evaluation.confusion import check_picture, confusion_matrix, draw_confusion
from tests.qonnx_models import residual_network


def test_rows_are_the_true_classes():
    matrix = confusion_matrix(np.array([0, 0, 2, 2, 2]), np.array([0, 1, 2, 2, 0]), 3)
    assert matrix.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize("classes", [3, 40])
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_picture(tmp_path, classes, suffix):
    pytest.importorskip("matplotlib", reason="needs the extra plot (matplotlib)")
    labels = np.random.default_rng(1).integers(0, classes, (2, 500))
    matrix = confusion_matrix(*labels, classes)
    path = tmp_path / f"confusion{suffix}"
    draw_confusion(matrix, [f"class{i}" for i in range(classes)], "net", path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    if suffix == ".svg":
        # Glyphs are drawn as paths; matplotlib names each text in a comment.
        assert (b"class2" in content) == (classes == 3)


def test_unfit_pictures(tmp_path):
    with pytest.raises(UserError, match=r"must end in \.svg, \.png, \.pdf"):
        check_picture(tmp_path / "confusion.jpeg2")
    with pytest.raises(UserError, match="does not exist"):
        check_picture(tmp_path / "none" / "confusion.svg")
    pytest.importorskip("matplotlib", reason="needs the extra plot (matplotlib)")
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        draw_confusion(np.eye(2, dtype=int), ["a", "b"], "net", tmp_path / "taken.svg")


def test_a_picture_that_cannot_be_written_loses_no_figures(cxx, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs the extra plot (matplotlib)")
    (tmp_path / "taken.svg").mkdir()
    arguments = [*small_set(tmp_path), "--confusion", str(tmp_path / "taken.svg"), "--json"]
    assert run(["evaluate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["images"] == 3
    assert "cannot be written" in err.splitlines()[-1]


def small_set(folder):
    """Arguments for a small network and three labelled images in `folder`."""
    residual_network().save(str(folder / "net.onnx"))
    images = np.random.default_rng(4).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    np.savez(folder / "set.npz", images=images, labels=np.arange(3))
    return [str(folder / "net.onnx"), "--data", str(folder / "set.npz"), "--workers", "1"]


@pytest.mark.parametrize("there", [True, False])
def test_the_command_draws_where_matplotlib_is(cxx, tmp_path, capsys, monkeypatch, there):
    if there:
        pytest.importorskip("matplotlib", reason="needs the extra plot (matplotlib)")
    else:
        original = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda n: None if n == "matplotlib" else original(n)
        )
    monkeypatch.chdir(tmp_path)
    assert run(["evaluate", *small_set(tmp_path)]) == 0
    out, err = capsys.readouterr()
    picture = tmp_path / "confusion_net.svg"
    assert picture.is_file() == there
    assert ("confusion matrix: confusion_net.svg" in out) == there
    assert ("finn_resnet[plot]" in out) == (not there)
    assert "evaluate" in err
