"""`finn-resnet explore`: results on disk, nothing computed twice, the plot in a build's report."""

from __future__ import annotations

import csv
import json

import pytest

from finn_resnet.build import build
from finn_resnet.cli import run
from finn_resnet.config import BuildConfig
from finn_resnet.parallelism.coefficients import coefficients
from tests.qonnx_models import residual_network

SWEEP = ["--mode", "paper", "--share", "0.05", "--share", "1", "--workers", "1", "-q"]


@pytest.fixture
def model(tmp_path) -> str:
    path = tmp_path / "net.onnx"
    residual_network().save(str(path))
    return str(path)


def rows(folder) -> list[dict[str, str]]:
    with (folder / "points.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_model_is_swept_over_boards_and_shares(model, tmp_path):
    folder = tmp_path / "sweep"
    assert run(["explore", model, "--output-dir", str(folder), *SWEEP]) == 0
    assert len(rows(folder)) == 2 * 2 * 2
    assert {row["board"] for row in rows(folder)} == {"KV260", "Ultra96"}
    front = json.loads((folder / "pareto.json").read_text())["pareto"]
    assert front and all(point["cycles"] > 0 for point in front)
    log = (folder / "points.jsonl").read_text()
    more = [*SWEEP, "--board", "KV260", "--share", "0.5"]
    assert run(["explore", model, "--output-dir", str(folder), *more]) == 0
    grown = (folder / "points.jsonl").read_text()
    assert grown.startswith(log) and len(rows(folder)) == 3 * 3
    assert len(grown.splitlines()) == 8 + (9 - 4), "only the new shares were searched"


def test_a_build_is_swept_on_its_board_and_shows_it(model, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "out"
    steps = ["step_merge_batch_norm", "step_lower_to_hardware", "step_fuse_requant_chains"]
    steps += ["step_set_stream_depths", "step_generate", "step_write_html_report"]
    build(BuildConfig(model, "Ultra96", output_dir=str(folder), steps=steps))
    assert "Not run: <code>finn-resnet explore" in (folder / "report.html").read_text()
    assert run(["explore", str(folder), *SWEEP]) == 0
    assert {row["board"] for row in rows(folder / "explore")} == {"Ultra96"}
    html = (folder / "report.html").read_text()
    assert "frames per second" in html and "<?xml" not in html


def test_a_builds_coefficients_are_those_of_its_sweep(model, tmp_path):
    """In the worker processes, too; the command's file goes before the build's."""
    mine, double = tmp_path / "mine.json", tmp_path / "double.json"
    for path, factor in ((mine, 3), (double, 6)):
        prices = {n: e for n, e in coefficients().items() if e.get("resource") == "lut"}
        scaled = {n: {b: factor * e[b] for b in ("low", "high")} for n, e in prices.items()}
        path.write_text(json.dumps(scaled))
    folder = tmp_path / "out"
    steps = ["step_lower_to_hardware", "step_set_stream_depths", "step_generate"]
    build(BuildConfig(model, "KV260", str(folder), steps=steps, coefficients_file=str(mine)))
    sweep = ["explore", str(folder), "--mode", "paper", "--share", "1", "--workers", "1", "-q"]
    luts = []
    for more in ([], ["--coefficients-file", str(double)]):
        assert run([*sweep, *more]) == 0
        luts.append(float(rows(folder / "explore")[0]["lut"]))
    assert 1.5 < luts[1] / luts[0] < 2
    assert run([*sweep, "--coefficients-file", "missing.json"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.onnx"], "does not exist"),
        (["resnet9"], "is no shipped model"),
        (["--board", "KV26"], "KV260"),
        (["--mode", "papr"], "--mode"),
        (["--share", "2"], "2.0"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_bad_sweeps_are_refused(model, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    source = [] if arguments[0].endswith(("onnx", "9")) else [model]
    assert run(["explore", *source, *arguments, "-q"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
