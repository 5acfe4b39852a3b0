"""`finn-resnet train`: from random images to C++ that is proven bit-exact, and its refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train (PyTorch)")
pytest.importorskip("brevitas", reason="needs the extra train (brevitas)")

from finn_resnet.cli import run
from finn_resnet.report import read_report
from tests.training.random_image_sets import random_images, save_archive

FEW_STEPS = [
    *("--float-epochs", "2", "--decay-epochs", "1", "--quantised-epochs", "1"),
    *("--batch-size", "32", "--learning-rate", "0.02", "--calibration-images", "32"),
]

# Graph, C++ and its proof, without what concerns time alone: sizing and cycle-level simulation.
CODE_STEPS = [
    "step_merge_batch_norm",
    "step_lower_to_hardware",
    "step_fuse_requant_chains",
    "step_merge_downsample",
    "step_forward_window_buffer",
    "step_absorb_add",
    "step_set_parallelism",
    "step_insert_width_adapters",
    "step_set_stream_depths",
    "step_generate",
    "step_verify",
]


def train(data: Path, output: Path, *more: str) -> int:
    return run(["train", "--data", str(data), "--output-dir", str(output), *FEW_STEPS, *more])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ((), "resnet8"),
        (
            ("--weight-bits", "4", "--activation-bits", "4", "--blocks", "2,1", "--width", "8"),
            "resnet8_2-1_c8_w4a4",
        ),
    ],
)
def test_trains_exports_builds_and_verifies(
    cxx: str,
    data_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    options: tuple[str, ...],
    name: str,
) -> None:
    folder = tmp_path / "trained"
    assert train(data_folder, folder, *options) == 0
    out, err = capsys.readouterr()
    assert "of 40 test images" in out
    assert "float epoch 2 of 2: loss" in err and "0:00:00 left" in err
    model = folder / f"{name}.onnx"

    build = ["--board", "KV260", "--mode", "paper", "--output-dir", str(tmp_path / "build")]
    images = ["--images", str(data_folder / "random_test.npz"), "--num-images", "20"]
    steps = ["--set", f"steps={json.dumps(CODE_STEPS)}"]
    assert run(["build", str(model), *build, *images, *steps]) == 0
    verification = read_report(tmp_path / "build")["verification"]
    assert verification["images"] == 20
    assert verification["mismatched_codes"] == 0
    assert verification["compared_codes"] > 20 * 80_000
    capsys.readouterr()

    card = model.with_suffix(".md")
    arguments = ["--float-model", str(next(folder.glob("*_float.onnx"))), "--card", str(card)]
    source = str(tmp_path / "build")
    assert run(["evaluate", source, "--data", str(data_folder), *arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["images"], result["mismatched_codes"]) == (40, 0)
    # The tool finds what PyTorch found, and the card has a row for each.
    for name, row in (("float", "float"), ("qonnx", "quantised"), ("accelerator", "accelerator")):
        share = f"{100 * result['accuracy'][name]:.2f} %"
        assert any(line.startswith(f"| {row}") and share in line for line in lines_of(card)), row


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def refused(capsys: pytest.CaptureFixture, data: Path, output: Path, *more: str) -> str:
    """A training that must be refused in one line with exit code 2; the line."""
    assert train(data, output, "--quiet", *more) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1, err
    return err


def test_missing_or_half_data_sets(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out"
    assert "does not exist" in refused(capsys, tmp_path / "none", out)
    archive = data_folder / "random_train.npz"
    archive.write_bytes(archive.read_bytes()[:1000])
    assert "cannot be read" in refused(capsys, data_folder, out)
    archive.unlink()
    assert "holds no train set" in refused(capsys, data_folder, out)
    (data_folder / "data_batch_1").write_bytes(b"")
    assert "data_batch_2, data_batch_3" in refused(capsys, data_folder, out)


def test_images_of_another_size(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    np.savez(
        data_folder / "random_test.npz",
        images=np.zeros((4, 28, 28, 3), np.uint8),
        labels=np.zeros(4, int),
    )
    assert "(28, 28, 3), the network takes (32, 32, 3)" in refused(capsys, data_folder, tmp_path)


def test_checkpoints_and_depths_that_do_not_fit(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert "depth 9 is not of the form" in refused(capsys, data_folder, tmp_path, "--depth", "9")
    assert "not of the form 2,2,2" in refused(capsys, data_folder, tmp_path, "--blocks", "2;2")
    assert "at least 1" in refused(capsys, data_folder, tmp_path, "--blocks", "0,2")
    assert train(data_folder, tmp_path, "--quantised-epochs", "0", "--quiet") == 0
    assert capsys.readouterr().out == ""
    shutil.move(tmp_path / "resnet8_float.pt", tmp_path / "resnet14_float.pt")
    line = refused(capsys, data_folder, tmp_path, "--depth", "14")
    assert "is of a resnet8, not of a resnet14" in line
    save_archive(data_folder / "random_test.npz", random_images(9, seed=2, classes=3))
    assert "different classes" in refused(capsys, data_folder, tmp_path)
