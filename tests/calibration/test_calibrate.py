"""A vendor's reports against the model: each module finds its task, and the coefficients follow."""

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.boards import load_board
from finn_resnet.build import build
from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.calibration import calibrate, find_reports
from finn_resnet.calibration.vendor_reports import read_csynth, read_timing, read_utilisation
from finn_resnet.cli import run
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import load_project
from finn_resnet.parallelism import estimate
from finn_resnet.parallelism.coefficients import (
    coefficients,
    read_coefficients,
    replaced_coefficients,
)
from finn_resnet.report.report_file import read_report
from tests.qonnx_models import residual_network

_STEPS = (
    *("step_lower_to_hardware", "step_fuse_requant_chains", "step_merge_downsample"),
    *("step_forward_window_buffer", "step_absorb_add", "step_set_parallelism"),
    *("step_insert_width_adapters", "step_set_stream_depths", "step_generate", "step_estimate"),
)
_LUTS_OF_A_TASK = 700


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A build without simulation."""
    base = tmp_path_factory.mktemp("calibration")
    residual_network().save(str(base / "net.onnx"))
    config = BuildConfig(
        str(base / "net.onnx"),
        "KV260",
        output_dir=str(base / "out"),
        steps=_STEPS,
        verify_steps=(),
    )
    build(config)
    return base / "out"


@pytest.fixture
def copy(folder, tmp_path) -> Path:
    """A copy of that build to write into."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def module_names(folder: Path) -> dict[str, str]:
    """What Vitis HLS calls the module of every task; "_s" ends those of templates."""
    top = load_project(folder / "hls").top
    source = (folder / "hls" / f"{top}.cpp").read_text()
    calls = re.findall(r'FR_TASK\(\s*"(\w+)",\s*(?:fr::)?(\w+(?:<[^>]*>)?)\(', source)
    return {
        task: re.sub(r"\W+", "_", call).strip("_") + "_s" * ("<" in call) for task, call in calls
    }


def csynth(folder: Path, depth: int, interval: int = 1) -> str:
    """An overall csynth.xml; loops are modules of their own, as in recent versions."""
    modules = []
    for name in module_names(folder).values():
        area = f"<LUT>{_LUTS_OF_A_TASK}</LUT><FF>900</FF><DSP>3</DSP><BRAM_18K>1</BRAM_18K>"
        loop = (
            "<SummaryOfLoopLatency><L1><Name>L1</Name><TripCount>4</TripCount>"
            f"<PipelineII>{interval}</PipelineII><PipelineDepth>{depth}</PipelineDepth></L1>"
            "</SummaryOfLoopLatency>"
        )
        for module, loops in ((name, ""), (f"{name}_Pipeline_VITIS_LOOP_9_1", loop)):
            modules.append(
                f"<Module><Name>{module}</Name><PerformanceEstimates>{loops}"
                f"</PerformanceEstimates><AreaEstimates><Resources>{area}</Resources>"
                "</AreaEstimates></Module>"
            )
    return f"<profile><ModuleInformation>{''.join(modules)}</ModuleInformation></profile>"


def utilisation(lut: float, ff: float) -> str:
    """Rows of report_utilization."""
    rows = {"CLB LUTs*": lut, "CLB Registers": ff, "Block RAM Tile": 12.5, "DSPs": 100, "URAM": 0}
    lines = [
        f"| {name:<26} | {used:>5} |     0 |          0 |    117120 |  1.00 |"
        for name, used in rows.items()
    ]
    return "1. CLB Logic\n" + "\n".join(lines) + "\n"


def timing(slack: float) -> str:
    """The summary of report_timing_summary."""
    return (
        "| Design Timing Summary\n"
        "    WNS(ns)      TNS(ns)  TNS Failing Endpoints\n"
        "    -------      -------  ---------------------\n"
        f"    {slack:7.3f}        0.000                      0\n"
    )


def with_reports(folder: Path, depth: int = 9) -> Path:
    """Put the reports where the scripts of the build leave them."""
    report = folder / "hls/build/hls_project/solution/syn/report/csynth.xml"
    report.parent.mkdir(parents=True)
    report.write_text(csynth(folder, depth))
    (folder / "hls/build/reports").mkdir()
    (folder / "hls/build/reports/utilisation.rpt").write_text(utilisation(30000, 41000))
    (folder / "hls/build/reports/timing.rpt").write_text(timing(-1.0))
    return folder


def test_every_task_finds_its_module(copy):
    build_ = FinishedBuild.open(with_reports(copy, depth=9))
    section = calibrate(build_, find_reports(copy)).section
    project = load_project(copy / "hls")
    assert {task["name"] for task in section["tasks"]} == {task.name for task in project.tasks}
    assert section["unmatched_tasks"] == []
    modelled = {task.name: task.pipeline_depth for task in project.tasks}
    for task in section["tasks"]:
        assert (task["pipeline_depth"], task["interval"], task["lut"]) == (9, 1, _LUTS_OF_A_TASK)
        assert task["modelled_pipeline_depth"] == modelled[task["name"]]
    assert section["clock"]["reached_mhz"] == pytest.approx(1e3 / 5)


def test_the_model_meets_the_measurement_afterwards(copy):
    build_ = FinishedBuild.open(with_reports(copy))
    board, graph = load_board("KV260"), build_.hardware_graph()
    entries = calibrate(build_, find_reports(copy)).entries
    before = estimate(graph, board).totals
    with replaced_coefficients(entries):
        after = estimate(graph, board).totals
    assert after.lut == pytest.approx(30000, rel=0.02) != pytest.approx(before.lut, rel=0.02)
    assert after.ff == pytest.approx(41000, rel=0.02)
    assert after.lut_low <= after.lut and after.dsp == before.dsp
    assert estimate(graph, board).totals == before


def test_real_depths_reach_the_next_project(copy, tmp_path):
    build_ = FinishedBuild.open(with_reports(copy, depth=23))
    path = tmp_path / "mine.json"
    path.write_text(calibrate(build_, find_reports(copy)).text)
    again = build_.config.replace(output_dir=str(tmp_path / "again"), coefficients_file=str(path))
    result = build(again)
    measured = {task.name for task in load_project(copy / "hls").tasks}
    tasks = load_project(result.output_dir / "hls").tasks
    # The search may choose other factors with the new coefficients, hence other adapters.
    depths = [task.pipeline_depth for task in tasks if task.name in measured]
    assert set(depths) == {23} and len(depths) > len(tasks) // 2
    assert coefficients()["task_depths"]["value"] == {}


def test_a_second_calibration_starts_from_the_first(copy, tmp_path):
    build_ = FinishedBuild.open(with_reports(copy, depth=23))
    first = calibrate(build_, find_reports(copy)).entries
    with replaced_coefficients(first):
        again = calibrate(build_, {"utilisation": find_reports(copy)["utilisation"]})
        assert again.section["totals"]["lut"]["high"] == pytest.approx(30000, rel=0.02)
    assert again.entries["task_depths"]["value"] == first["task_depths"]["value"]
    assert set(again.entries) == set(first)


@pytest.mark.slow
def test_command_sizes_the_streams_for_the_real_depths(copy, cxx, capsys):
    with_reports(copy, depth=31)
    assert run(["calibrate", str(copy), "--json"]) == 0
    section = json.loads(capsys.readouterr().out)
    assert section == read_report(copy)["calibration"]
    assert section["sizing"]["streams"]
    depths = {s.name: s.depth for s in load_project(copy / "calibration/hls").streams}
    for change in section["sizing"]["streams"]:
        assert depths[change["name"]] == change["depth"] != change["built_depth"]
    assert read_coefficients(copy / "calibration/coefficients.json")["task_depths"]["value"]


def test_command_refuses_a_build_without_reports(folder, capsys):
    assert run(["calibrate", str(folder)]) == 2
    assert "make hls" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_csynth, "<profile>"),
        (read_csynth, "<profile></profile>"),
        (
            read_csynth,
            "<p><ModuleInformation><Module><Name>a</Name><PerformanceEstimates>"
            "<SummaryOfLoopLatency><PipelineDepth>3 ~ 4</PipelineDepth></SummaryOfLoopLatency>"
            "</PerformanceEstimates></Module></ModuleInformation></p>",
        ),
        (read_utilisation, "| CLB LUTs | 5 |"),
        (read_timing, "no slack here"),
    ],
)
def test_other_files_are_refused(read, text, tmp_path):
    path = tmp_path / "report"
    path.write_text(text)
    with pytest.raises(UserError, match="report"):
        read(path)
    with pytest.raises(UserError):
        read(tmp_path / "missing")


def test_modules_of_another_design_are_refused(copy):
    path = copy / "other.xml"
    path.write_text(csynth(copy, 3).replace("<Module><Name>", "<Module><Name>other_"))
    with pytest.raises(UserError, match="this design"):
        calibrate(FinishedBuild.open(copy), {"csynth": path})


@given(st.integers(0, 10**6), st.floats(-50, 50, allow_nan=False))
def test_figures_are_read_as_written(luts, slack):
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "report"
        path.write_text(utilisation(luts, 7))
        found = read_utilisation(path)
        assert (found.lut, found.ff, found.bram36, found.dsp) == (luts, 7, 12.5, 100)
        path.write_text(timing(slack))
        assert read_timing(path).worst_slack_ns == pytest.approx(slack, abs=5e-4)
