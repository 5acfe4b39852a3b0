from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import SimulationError, run_codes
from tests.stream_graphs import expected_codes


@pytest.fixture(scope="module")
def executable(project_dir):
    return compile_project(project_dir)


def test_outputs_and_streams_are_the_codes_of_the_graph(executable, residual, residual_model):
    frames = residual.frames(5)
    done = []
    run = run_codes(
        executable,
        frames["input"],
        tensors=["conv1_out", "conv1_forward", "conv2_out"],
        progress=lambda frame, total: done.append((frame, total)),
    )
    expected = expected_codes(residual_model, frames)
    for name, codes in run.tensors.items():
        np.testing.assert_array_equal(codes, expected[name], err_msg=name)
    np.testing.assert_array_equal(run.output, expected["conv3_out"])
    assert done == [(frame, 5) for frame in range(1, 6)]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((3, 6, 6, 4)), "integer codes, not float64"),
        (np.zeros((3, 6, 5, 4), np.uint8), r"shape \[N, 6, 6, 4\]"),
        (np.zeros((0, 6, 6, 4), np.uint8), "N >= 1"),
        (np.full((1, 6, 6, 4), -1), "codes 0 to 255, found -1"),
        (np.full((1, 6, 6, 4), 256), "found 256 to 256"),
        ({"elsewhere": np.zeros((1, 6, 6, 4), np.uint8)}, "'elsewhere'"),
    ],
)
def test_codes_the_input_cannot_take(executable, codes, message):
    with pytest.raises(UserError, match=message):
        run_codes(executable, codes)


def test_an_unknown_tensor_gets_the_nearest_name(executable, residual):
    with pytest.raises(UserError, match="did you mean 'conv1_out'"):
        run_codes(executable, residual.frames(1)["input"], tensors=["conv1_oat"])


def test_a_crash_is_one_line_with_the_signal(project_dir, residual, tmp_path):
    copy = shutil.copytree(project_dir, tmp_path / "copy")
    top = copy / "net.cpp"
    crash = "__builtin_trap();\n  FR_DATAFLOW_END();"
    top.write_text(top.read_text().replace("FR_DATAFLOW_END();", crash))
    with pytest.raises(SimulationError, match=r"^the simulation was ended by signal \d+.*$"):
        run_codes(compile_project(copy), residual.frames(1)["input"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (-1, "task 'conv1' reads stream 'conv1_weights_stream' while it is empty, frame 0"),
        (1, "stream 'conv1_weights_stream' still holds"),
    ],
)
def test_too_few_and_too_many_tokens_are_named(project_dir, residual, tmp_path, change, message):
    """One parameter repetition off."""
    copy = shutil.copytree(project_dir, tmp_path / "copy")
    config = copy / "config.hpp"
    text, count = re.subn(
        r"(struct conv1_weights_config .*?repeats = )(\d+)",
        lambda match: match[1] + str(int(match[2]) + change),
        config.read_text(),
        count=1,
        flags=re.DOTALL,
    )
    assert count == 1
    config.write_text(text)
    with pytest.raises(SimulationError, match=message):
        run_codes(compile_project(copy), residual.frames(1)["input"])


def test_project_json_knows_every_fifo(project_dir):
    project = load_project(project_dir)
    top = (project_dir / "net.cpp").read_text()
    named = re.findall(r"FR_NAMED\((\w+),", top)
    assert sorted(named) == sorted(stream.name for stream in project.streams)
