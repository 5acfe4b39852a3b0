"""Whole builds of a small residual network: output, report, proof, and what makes them fail."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.build import BuildResult, build, find_step
from finn_resnet.build.steps import DEFAULT_STEPS
from finn_resnet.cli import run
from finn_resnet.config import BuildConfig
from finn_resnet.config.keys import DEFAULT_OPTIMISATIONS
from finn_resnet.errors import UserError
from finn_resnet.report import SECTIONS, read_report
from finn_resnet.report.table import result_lines
from tests.qonnx_models import ModelBuilder, residual_network

# Graph and C++ alone: what decides the codes, without the search for unroll factors.
CODE_STEPS = [
    "step_merge_batch_norm",
    "step_lower_to_hardware",
    "step_fuse_requant_chains",
    "step_merge_downsample",
    "step_forward_window_buffer",
    "step_absorb_add",
    "step_set_stream_depths",
    "step_generate",
    "step_verify",
]
LAYERS = 7


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    residual_network().save(str(path))
    return str(path)


@pytest.fixture(scope="module")
def built(model, cxx, tmp_path_factory) -> Path:
    """A finished build with every step, shared by the tests that only read it."""
    folder = tmp_path_factory.mktemp("built") / "out"
    build(BuildConfig(model, "KV260", output_dir=str(folder), mode="paper"))
    return folder


@pytest.fixture
def copy(built, tmp_path) -> Path:
    """A copy of the finished build to change."""
    return Path(shutil.copytree(built, tmp_path / "copy"))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_report_has_every_section_filled(built):
    report = read_report(built)
    assert set(report) == set(SECTIONS)
    for section in ("model", "board", "layers", "totals", "throughput", "optimisations"):
        assert report[section], section
    assert report["model"]["params"] == sum(
        och * ich * k * k + och
        for ich, och, k in [
            (3, 4, 3),
            (4, 4, 3),
            (4, 4, 3),
            (4, 6, 3),
            (6, 6, 3),
            (4, 6, 1),
            (6, 5, 1),
        ]
    )
    search = report["optimisations"]["parallelism"]
    assert search["cycles_lower_bound"] <= search["cycles"]
    assert 0 <= search["resource_gap"] < 0.2
    convolutions = [layer for layer in report["layers"] if layer["op"] == "StreamConv"]
    assert len(convolutions) == LAYERS - 1, "the downsample is merged into its partner"
    slowest = max(layer["cycles"] for layer in report["layers"])
    assert report["throughput"]["cycles_per_frame"] == slowest
    assert report["throughput"]["fps"] == pytest.approx(250e6 / slowest)
    assert report["throughput"]["latency_cycles"] > slowest
    for key in ("dsp", "lut", "ff", "bram36", "uram"):
        used = sum(layer[key] for layer in report["layers"])
        assert report["totals"][key] == pytest.approx(used)
        assert used <= report["board"]["budget"][key]
    assert {name.removeprefix("step_") for name in DEFAULT_STEPS} == set(report["timings_s"])


def test_the_build_is_proven_bit_exact(built):
    verification = read_report(built)["verification"]
    assert verification["images"] == 10
    assert verification["compared_codes"] > 10_000
    assert verification["mismatched_codes"] == 0
    assert verification["first_mismatch"] is None
    optimisations = read_report(built)["optimisations"]
    assert set(optimisations) == {*DEFAULT_OPTIMISATIONS, "parallelism", "size_streams"}
    for facts in optimisations.values():
        assert facts["applied"] is True and facts["changed_codes"] == 0


def test_the_rate_is_measured_on_the_sized_design(built):
    report = read_report(built)
    measured = report["simulation"]
    assert measured["deadlock"] is None and measured["is_steady"]
    # A pipeline drains once a frame, which the cost model leaves out and small frames show.
    assert measured["cycles_per_frame"] >= report["throughput"]["cycles_per_frame"]
    assert measured["cycles_per_frame"] <= 1.3 * report["throughput"]["cycles_per_frame"]
    sizing = report["optimisations"]["size_streams"]
    assert sizing["sized_period"] == measured["cycles_per_frame"]
    assert sizing["band"]["deadlocks"] == 0 and measured["band"]["is_proven"]
    assert measured["cycles_per_frame"] <= measured["band"]["worst_cycles_per_frame"]
    skips = [stream for stream in measured["streams"] if stream["kind"] == "skip"]
    assert skips and all(0 < s["max_occupancy"] <= s["depth"] for s in skips)
    assert all(stream["occupancy"]["tokens"] for stream in skips)
    bits = sum(stream["depth"] * stream["width_bits"] for stream in skips)
    assert bits == report["totals"]["skip_buffer_bits"]


def test_simulate_repeats_the_measurement(copy, capsys):
    before = read_report(copy)["simulation"]
    assert run(["simulate", str(copy), "--frames", "5"]) == 0
    out = capsys.readouterr().out
    assert f"{before['cycles_per_frame']:,} cycles per frame (steady)" in out
    assert read_report(copy)["simulation"]["frames"] == 5


def test_simulate_finds_memory_as_the_bottleneck(copy, capsys):
    before = read_report(copy)
    assert run(["simulate", str(copy), "--input-rate", "0.02"]) == 0
    assert "bottleneck input" in capsys.readouterr().out
    assert read_report(copy) == before, "a run with other rates is not the build's"


def test_depths_by_hand_that_deadlock_are_refused_with_the_remedy(copy, tmp_path, capsys):
    streams = json.loads((copy / "hls" / "project.json").read_text())["streams"]
    skips = {stream["name"]: 1 for stream in streams if stream["kind"] == "skip"}
    (tmp_path / "depths.json").write_text(json.dumps(skips))
    before = read_report(copy)
    assert run(["simulate", str(copy), "--depths", str(tmp_path / "depths.json"), "-q"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("failed: deadlock at cycle ") and err.count("\n") == 1
    assert "which is full" in err and "raise the depth of" in err
    assert read_report(copy) == before


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_an_interrupted_simulation_keeps_what_it_measured(copy):
    """Ctrl-C reaches the whole process group, as a terminal sends it."""
    command = [sys.executable, "-m", "finn_resnet.cli", "simulate", str(copy), "--frames", "400000"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        while process.poll() is None and not is_simulating(process.pid):
            time.sleep(0.1)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 130, process.stderr.read()
    measured = read_report(copy)["simulation"]
    assert measured["interrupted"] is True
    assert 2 < measured["finished_frames"] < 400_000


def is_simulating(pid: int) -> bool:
    """Whether a simulation executable runs as a child of process `pid`."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = (Path(f"/proc/{child}/cmdline") for child in children)
    return any(b"/sim\0" in path.read_bytes() for path in commands if path.exists())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frames", "2"], "at least 3"),
        (["--input-rate", "0"], "must be above 0"),
        (["--output-rate", "2"], "must be above 0"),
        (["--depths", "none.json"], "cannot be read"),
        (["--depths", "list.json"], "must hold an object"),
        (["--depths", "zero.json"], "must be at least 1"),
        (["--depths", "name.json"], "no stream is named"),
    ],
)
def test_bad_simulations_are_refused(built, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "zero.json").write_text('{"conv8_out": 0}')
    (tmp_path / "name.json").write_text('{"conv8_outt": 4}')
    assert run(["simulate", str(built), "-q", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err


def test_a_result_says_what_it_is_in_a_notebook_too(built, model):
    result = BuildResult(built, ModelWrapper(model), read_report(built))
    cycles = result.report["simulation"]["cycles_per_frame"]
    assert f"{cycles:,} cycles per frame" in repr(result) and len(repr(result)) < 200
    shown = result._repr_html_()
    assert "0 of" in shown and shown.count("<tr>") == len(result_lines(result.report))


def test_the_output_folder_is_complete(built):
    names = {path.name for path in built.iterdir()}
    assert names == {
        "build_config.json",
        "build_files.json",
        "deploy",
        "hls",
        "intermediate_models",
        "report.html",
        "report.json",
    }
    graphs = sorted(path.name for path in (built / "intermediate_models").iterdir())
    assert graphs[0] == "00_original.onnx"
    assert len(graphs) == 1 + len(DEFAULT_STEPS)
    html = (built / "report.html").read_text()
    assert html.count('<svg class="graph"') == 2 and 'class="roof"' in html


def test_verify_repeats_the_comparison_on_other_images(copy, tmp_path, capsys):
    images = np.random.default_rng(4).integers(0, 256, (7, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "set.npz", images=images, labels=np.arange(7) % 5)
    assert run(["verify", str(copy), "--images", str(tmp_path / "set.npz"), "--num", "7"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("0 of ") and "on 7 images" in out
    accuracy, reference = re.search(r"accuracy ([\d.]+) %, of the model ([\d.]+) %", out).groups()
    assert accuracy == reference
    assert read_report(copy)["verification"]["images"] == 7


def test_verify_with_the_vendors_integers(copy, capsys):
    if importlib.util.find_spec("hls4ml") is None:
        pytest.skip("no ap_int headers (extra ap-types)")
    assert run(["verify", str(copy), "--ap-int", "--num", "3"]) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    assert read_report(copy)["verification"]["compiled_as"] == ["ap_int"]


def test_a_build_reads_its_own_settings_again(model, cxx, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    np.save("set.npy", np.random.default_rng(5).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8))
    arguments = ["--board", "KV260", "--output-dir", "out", "--images", "set.npy"]
    arguments += ["--num-images", "3", "--set", f"steps={json.dumps(CODE_STEPS)}"]
    assert run(["build", model, *arguments, "--set", "save_intermediate_models=false"]) == 0
    graphs = sorted(path.name for path in Path("out/intermediate_models").iterdir())
    assert graphs == ["00_original.onnx", f"{len(CODE_STEPS):02d}_verify.onnx"]
    monkeypatch.chdir(tmp_path)
    assert run(["verify", "work/out"]) == 0
    assert read_report("work/out")["verification"]["images"] == 3
    assert run(["build", "work/out/build_config.json", "--output-dir", "again"]) == 0
    assert tree(tmp_path / "again" / "hls") == tree(tmp_path / "work" / "out" / "hls")


def test_verify_catches_a_weight_changed_by_one(copy, capsys):
    weights = copy / "hls" / "weights" / "conv25_weights.inc"
    text = weights.read_text()
    first = re.search(r"-?\d+", text)
    changed = int(first.group()) - 1 if int(first.group()) > 0 else int(first.group()) + 1
    weights.write_text(text[: first.start()] + str(changed) + text[first.end() :])
    assert run(["verify", str(copy)]) == 1
    err = capsys.readouterr().err
    assert "failed: " in err and "task conv25" in err
    assert read_report(copy)["verification"]["first_mismatch"]["node"] == "conv25"


def test_cpp_edited_until_it_does_not_compile_is_a_failed_result(copy, capsys):
    (copy / "hls" / "weights" / "conv25_weights.inc").write_text("no numbers")
    for name in ("verify", "simulate"):
        assert run([name, str(copy), "-q"]) == 1
        err = capsys.readouterr().err
        assert err.startswith("failed: the C++ does not compile") and err.count("\n") == 1


def test_the_published_buffer_ratios_are_reported(built):
    """Eq. 25 against eq. 26 on 8x8 pictures: (4*8 + 5) codes a channel against 2*8 + 2."""
    facts = read_report(built)["optimisations"]
    steps = ("merge_downsample", "forward_window_buffer", "absorb_add")
    bits = [facts[steps[0]]["formula_skip_bits_before"]]
    bits += [facts[name]["formula_skip_bits_after"] for name in steps]
    identity_before, downsample_before = 37 * 4 * 8, 37 * 4 * 8
    identity_after, downsample_after = 18 * 4 * 8, 10 * 6 * 8
    assert bits[0] == identity_before + downsample_before
    assert bits[1] == identity_before + downsample_after
    assert bits[2] == bits[3] == identity_after + downsample_after


@pytest.mark.parametrize("chosen", list(itertools.product([False, True], repeat=3)))
def test_every_subset_of_the_optimisations_is_bit_exact(model, cxx, tmp_path, chosen):
    names = ("merge_downsample", "forward_window_buffer", "absorb_add")
    config = BuildConfig(
        model,
        "Ultra96",
        output_dir=str(tmp_path / "out"),
        optimisations=dict(zip(names, chosen, strict=True)),
        steps=CODE_STEPS,
        verify_num_images=4,
    )
    report = build(config).report
    assert report["verification"]["mismatched_codes"] == 0
    assert report["verification"]["compared_codes"] > 5000
    applied = {name: facts["applied"] for name, facts in report["optimisations"].items()}
    assert applied == dict(zip(names, chosen, strict=True))


def test_the_published_form_reports_the_codes_it_changes(model, cxx, tmp_path):
    config = BuildConfig(
        model,
        "KV260",
        output_dir=str(tmp_path / "out"),
        optimisations={"absorb_add": "accumulator"},
        steps=CODE_STEPS,
    )
    report = build(config).report
    assert report["verification"]["definition"] == "hardware graph"
    assert report["verification"]["mismatched_codes"] == 0
    assert report["optimisations"]["absorb_add"]["changed_codes"] > 0


def test_a_skipped_verification_says_so(model, tmp_path, capsys):
    arguments = ["build", model, "--board", "KV260", "--output-dir", str(tmp_path / "out")]
    skipped = ("step_simulate", "step_size_streams")
    steps = json.dumps([step for step in DEFAULT_STEPS if step not in skipped])
    assert (
        run([*arguments, "--mode", "paper", "--skip-verification", "--set", f"steps={steps}"]) == 0
    )
    assert read_report(tmp_path / "out")["verification"] is None
    out = capsys.readouterr().out
    assert "has not been compared with the model" in out and "unproven" in out
    html = (tmp_path / "out" / "report.html").read_text()
    assert "has not been compared" in html and "Not simulated" in html


def test_a_build_repeats_to_the_same_bytes(built, model, tmp_path):
    config = BuildConfig(
        model, "KV260", output_dir=str(tmp_path / "out"), mode="paper", verify_steps=[]
    )
    build(config)
    assert tree(tmp_path / "out" / "hls") == tree(built / "hls")


def step_that_fails(model, cfg):
    """A step of a user that raises."""
    raise RuntimeError("deliberate")


def step_that_counts(model, cfg):
    """A step of a user that leaves a file in the output."""
    (Path(cfg.output_dir) / "nodes.txt").write_text(str(len(model.graph.node)))
    return model


def test_steps_by_dotted_name(model, tmp_path):
    steps = ["step_lower_to_hardware", "tests.build.test_flow.step_that_counts"]
    result = build(BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), steps=steps))
    assert int((tmp_path / "out" / "nodes.txt").read_text()) == len(result.model.graph.node)
    assert list(result.report["timings_s"]) == ["lower_to_hardware", "that_counts"]


def step_that_returns_nothing(model, cfg):
    """A step of a user that forgot its end."""


def test_a_step_that_returns_nothing_is_named(model, tmp_path):
    steps = ["step_lower_to_hardware", "tests.build.test_flow.step_that_returns_nothing"]
    with pytest.raises(UserError, match=r"step_that_returns_nothing' returned NoneType"):
        build(BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), steps=steps))


def test_a_failed_build_leaves_the_earlier_one(copy, model):
    before = tree(copy)
    steps = ["step_lower_to_hardware", "tests.build.test_flow.step_that_fails"]
    with pytest.raises(RuntimeError, match="deliberate"):
        build(BuildConfig(model, "KV260", output_dir=str(copy), steps=steps))
    assert tree(copy) == before
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("step_generat", "did you mean 'step_generate'"),
        ("no.such.module.step", "cannot be imported"),
        ("tests.build.test_flow:step_that_counts", "cannot be imported"),
        ("tests.build.test_flow.no_step", "cannot be imported"),
        ("tests.build.test_flow.LAYERS", "no function"),
    ],
)
def test_unknown_steps_are_refused(name, message):
    with pytest.raises(UserError, match=message):
        find_step(name)


def refused(capsys, tmp_path, *arguments: str) -> str:
    before = tree(tmp_path)
    assert run(["build", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1, err
    assert tree(tmp_path) == before
    return err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--board", "KV26"], "KV260"),
        (["--board", "KV260", "--mode", "papr"], "did you mean 'paper'"),
        (["--board", "KV260", "--clock-mhz", "0"], "not above 0"),
        (["--board", "KV260", "--cap", "dsp=101"], "at most 100"),
        (["--board", "KV260", "--cap", "dsp"], "not of the form"),
        (["--board", "KV260", "--optimise", "absorb_add=maybe"], "not legal"),
        (["--board", "KV260", "--images", "none.npz"], "cannot be read"),
        (["--board", "KV260", "--folding", "none.json"], "none.json"),
        (["--board", "KV260", "--set", "fpga_part=xc7z020"], "contradict"),
        (["--board", "KV260", "--skip-verification", "--num-images", "3"], "contradict"),
        (["--board", "KV260", "--set", "input_mean=[0,1]"], "2 entries"),
        ([], "needs a board"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_written(
    capsys, tmp_path, monkeypatch, model, arguments, message
):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, tmp_path, model, *arguments)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"cnv0": {"och_par": 1}}', "folding of node 'cnv0'"),
        ('{"Defaults": {"och_pra": 1}}', "did you mean 'och_par'"),
        ('{"conv3": {"och_par": 0}}', "whole number from 1"),
    ],
)
def test_a_bad_folding_is_refused_before_anything_is_written(
    capsys, tmp_path, monkeypatch, model, content, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folding.json").write_text(content)
    options = ("--board", "KV260", "--folding", "folding.json")
    assert message in refused(capsys, tmp_path, model, *options)


def test_no_compiler(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in refused(capsys, tmp_path, model, "--board", "KV260")


def test_a_program_that_compiles_nothing_is_no_compiler(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", shutil.which("true"))
    assert "set CXX to a C++17 compiler" in refused(capsys, tmp_path, model, "--board", "KV260")


def test_a_clock_no_device_reaches_is_refused(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    line = refused(capsys, tmp_path, model, "--board", "KV260", "--clock-mhz", "5000")
    assert "at most 644 MHz" in line


def test_pictures_no_memory_holds_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = ModelBuilder(seed=1)
    x = net.relu(net.conv(net.quant("image", -7), 3, 4, 3, stride=2))
    net.model(x, [1, 3, 60000, 60000], [1, 4, 30000, 30000]).save(str(tmp_path / "net.onnx"))
    line = refused(capsys, tmp_path, "net.onnx", "--board", "KV260")
    assert "60,000x60,000" in line and "GB" in line


def test_a_folder_that_cannot_be_written(capsys, tmp_path, model):
    (tmp_path / "file").write_text("x")
    target = str(tmp_path / "file" / "out")
    line = refused(capsys, tmp_path, model, "--board", "KV260", "--output-dir", target)
    assert "cannot be written" in line


def test_a_budget_nothing_fits(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    line = refused(capsys, tmp_path, model, "--board", "KV260", "--cap", "lut=0.1", "-q")
    assert "lut" in line.lower()


def test_short_cascades_compute_the_same(model, cxx, tmp_path):
    """`chain` cuts dot products anew; the codes stay."""
    folding = tmp_path / "folding.json"
    folding.write_text(json.dumps({"Defaults": {"chain": 2, "ich_par": 2, "mac_style": "dsp"}}))
    cut = BuildConfig(
        model, "KV260", output_dir=str(tmp_path / "out"), folding_config_file=str(folding)
    )
    result = build(cut)
    assert result.report["verification"]["mismatched_codes"] == 0
    config = (tmp_path / "out/hls/config.hpp").read_text()
    assert "chain_end[] = {2, 4, 6, 8, 10, 12, 14, 16, 18};" in config
