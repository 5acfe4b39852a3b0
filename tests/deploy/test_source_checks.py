"""The checkers of generated HLS sources: silent on every configuration, loud on wrong sources."""

from __future__ import annotations

import re

import pytest

from finn_resnet.boards import load_board
from finn_resnet.deploy.dataflow_check import check_dataflow
from finn_resnet.deploy.pragma_check import check_pragmas
from finn_resnet.deploy.scripts import write_scripts
from finn_resnet.generation.project import generate_project
from finn_resnet.importing import load_model
from finn_resnet.parallelism import AnnotateParallelism
from finn_resnet.transformation import (
    InsertWidthAdapters,
    LowerToHardware,
    SetStreamDepths,
)
from tests.deploy.conftest import BOARDS, optimised
from tests.qonnx_models import residual_network


def faults(folder) -> list[str]:
    return [*check_dataflow(folder), *check_pragmas(folder)]


def test_the_small_network_is_legal(project):
    assert faults(project.directory) == []


def test_the_unoptimised_network_is_legal(tmp_path):
    model = residual_network().transform(LowerToHardware()).transform(SetStreamDepths())
    assert faults(generate_project(model, tmp_path, "plain").directory) == []


@pytest.mark.parametrize("board_name", BOARDS)
@pytest.mark.parametrize("mode", ["paper", "full"])
def test_parallel_networks_are_legal(board_name, mode, tmp_path):
    model = optimised(residual_network())
    model = model.transform(AnnotateParallelism(load_board(board_name), mode))
    model = model.transform(InsertWidthAdapters()).transform(SetStreamDepths())
    assert faults(generate_project(model, tmp_path, "wide").directory) == []


@pytest.mark.parametrize("board_name", BOARDS)
@pytest.mark.parametrize("name", ["resnet8", "resnet20_a8w8b16"])
def test_the_public_models_are_legal(board_name, name, shared_models, tmp_path):
    model = optimised(load_model(str(shared_models / f"{name}.onnx")))
    model = model.transform(AnnotateParallelism(load_board(board_name), "paper"))
    model = model.transform(InsertWidthAdapters()).transform(SetStreamDepths())
    assert faults(generate_project(model, tmp_path, name).directory) == []


def edit(path, pattern: str, replacement: str) -> None:
    """Replace the first match of ``pattern``."""
    text = path.read_text()
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    path.write_text(changed)


@pytest.mark.parametrize(
    ("pattern", "replacement", "complaint"),
    [
        # A task left out, written twice, or fed from the wrong stream.
        (r'  FR_TASK\("conv8", .*\n', "", "stream 'conv8_weights_stream' has 0 readers"),
        (r'(  FR_TASK\("conv8_window_pad",[^;]*;\n)', r"\1\1", "has 2 writers"),
        (
            r"conv13_window_window,\s+conv13_weights",
            "conv8_window_window, conv13_weights",
            "2 readers",
        ),
        (r"conv13_window_tap\[8\], ", "conv13_window_tap[7], ", "tap[7]' has 2 writers"),
        (r"conv13_window_tap\[8\], ", "conv13_window_tap[9], ", "which does not exist"),
        (r"conv8_window_forward,(\s+conv13_out)", r"conv8_window_forwards,\1", "no declared"),
        (r"\(conv8_out\[0\],\s", "(conv13_out[0], ", "before any task writes it"),
        (r"conv38_out, output\)", "conv38_out, input)", "stream 'output' has 0 writers"),
        # Something that is no declaration and no call.
        (r"(  FR_DATAFLOW_END)", r"  int x = 0;\n\1", "neither a stream declaration nor a task"),
        (r'(  FR_TASK\("conv8", .*\n)', r"  if (true) {\n\1  }\n", "neither a stream declaration"),
        (r"FR_NAMED\(conv8_out,", "FR_NAMED(renamed,", "'renamed' is named, but is no declared"),
        (r"  FR_DATAFLOW_END\(\);\n", "", "the last statement"),
        (r'"conv13_weights", conv13', '"conv8_weights", conv13', "two tasks are named"),
    ],
)
def test_a_broken_top_function_is_caught(project, pattern, replacement, complaint):
    edit(project.directory / "small.cpp", pattern, replacement)
    found = check_dataflow(project.directory)
    assert any(complaint in fault for fault in found), found


def test_a_task_that_writes_its_input_is_caught(project):
    header = project.directory / "include" / "parameters.hpp"
    edit(header, r"out\.write\(weights_word<C>\(weights, word\)\)", "out.read()")
    found = check_dataflow(project.directory)
    assert "stream 'conv8_weights_stream' has 0 writers" in found


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "complaint"),
    [
        ("small.cpp", "#pragma HLS dataflow", "#pragma HLS dataflows", "'dataflows' is unknown"),
        ("small.cpp", "#pragma HLS dataflow", "#pragma HSL dataflow", "is no HLS pragma"),
        ("small.cpp", "axis port=input", "axis port=inputs", "names port 'inputs'"),
        ("small.cpp", "axis port=input", "axi port=input", "has no option 'axi'"),
        ("small.cpp", "stream variable=conv8_out", "stream variable=conv8_ou", "not declared"),
        ("small.cpp", "conv8_out depth=", "conv8_out dept=", "has no option 'dept'"),
        ("small.cpp", "conv8_out depth=4", "conv8_out", "lacks its option 'depth'"),
        ("small.cpp", "type=rom_1p", "type=rom1p", "is none of"),
        ("small.cpp", "impl=bram", "impl=blockram", "is none of"),
        ("small.cpp", "reshape variable=weights", "reshape variable=weight", "not declared"),
        ("small.cpp", "(#pragma HLS dataflow\n)", r"  int x;\n\1", "not at the start"),
        ("include/parameters.hpp", "style = stp", "style = stpp", "is none of"),
        ("include/parameters.hpp", "II = 1", "ii = 1", "has no option 'ii'"),
        (
            "include/parameters.hpp",
            r"(#pragma HLS pipeline.*\n)(\s*iteration\(\);\n)",
            r"\2\1",
            "'pipeline' is not at the start of its loop body",
        ),
        ("include/conv.hpp", "#pragma HLS inline", "#pragma HLS inlined", "'inlined' is unknown"),
        ("include/conv.hpp", "variable = acc complete", "variable = ac complete", "not declared"),
        ("include/conv.hpp", "acc complete dim", "acc total dim", "has no option 'total'"),
        ("include/conv.hpp", r"groups dependent", "groups dependant", "'dependant'"),
    ],
)
def test_a_wrong_pragma_is_caught(project, file, pattern, replacement, complaint):
    edit(project.directory / file, pattern, replacement)
    found = check_pragmas(project.directory)
    assert any(complaint in fault and fault.startswith(file) for fault in found), found


def test_scripts_are_not_written_for_broken_sources(hardware_model, project, tmp_path):
    edit(project.directory / "small.cpp", "#pragma HLS dataflow", "#pragma HLS dataflows")
    with pytest.raises(ValueError, match="no legal HLS code"):
        write_scripts(hardware_model, project, load_board("KV260"), tmp_path / "build", 250.0)
    assert not (project.directory / "Makefile").exists()
