"""Weights that arrive over the parameter stream: same codes as constants, nothing before them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qonnx.core.datatype import DataType
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import load_board
from finn_resnet.deploy.dataflow_check import check_dataflow
from finn_resnet.deploy.pragma_check import check_pragmas
from finn_resnet.deploy.scripts import write_scripts
from finn_resnet.deploy.vectors import model_vectors, random_pictures
from finn_resnet.errors import UserError
from finn_resnet.generation.parameter_code import parameter_bytes
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import Project, load_project
from finn_resnet.generation.task_code import WeightMemory
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import DEADLOCK_STATUS, run_codes, run_executable, write_inputs
from finn_resnet.simulation.simulate import simulate_project
from finn_resnet.simulation.size_streams import SizeStreams
from tests.deploy.conftest import with_uram
from tests.deploy.recording import record
from tests.deploy.test_hls_scripts import vector_test

pytestmark = pytest.mark.slow

FRAMES = 4


def codes(count: int = FRAMES) -> np.ndarray:
    found = np.random.default_rng(5).integers(-128, 128, (count, 8, 8, 3))
    found[0] = -128
    return found


@pytest.fixture(scope="module")
def expected(hardware_model, tmp_path_factory) -> np.ndarray:
    """Codes of the network with all weights constant."""
    project = generate_project(hardware_model, tmp_path_factory.mktemp("plain"), "small")
    return run_codes(compile_project(project.directory), codes()).output


@pytest.fixture(scope="module")
def loaded(uram_model, tmp_path_factory) -> Project:
    return generate_project(uram_model, tmp_path_factory.mktemp("loaded"), "small")


@pytest.mark.parametrize("build", [{}, {"timed": True}, {"sanitise": True}])
def test_loaded_weights_give_the_same_codes(loaded, expected, build):
    executable = compile_project(loaded.directory, **build)
    assert np.array_equal(run_codes(executable, codes()).output, expected)


def test_one_loaded_layer_gives_the_same_codes(hardware_model, expected, tmp_path):
    project = generate_project(with_uram(hardware_model, [2]), tmp_path, "small")
    assert len(project.parameters.layers) == 1
    assert np.array_equal(run_codes(compile_project(project.directory), codes()).output, expected)


def test_loading_does_not_change_the_frame_rate(hardware_model, loaded, tmp_path):
    plain = generate_project(hardware_model, tmp_path, "small")
    found, wanted = (simulate_project(p.directory, frames=4) for p in (loaded, plain))
    assert found.is_steady and found.cycles_per_frame == wanted.cycles_per_frame


def test_sizing_leaves_the_loading_out(uram_model):
    sizing = SizeStreams(frames=3)
    sized = uram_model.transform(sizing)
    assert sizing.report.sized_period == sizing.report.full_rate_period
    assert not any(stream.kind == "load" for stream in sizing.report.streams)
    styles = [
        sized.get_customop_wrapper(node).get_nodeattr("mem_style")
        for node in sized.get_nodes_by_op_type("ParameterStream")
    ]
    assert set(styles) == {"uram"}


def test_the_sources_are_legal(loaded):
    assert [*check_dataflow(loaded.directory), *check_pragmas(loaded.directory)] == []
    source = (loaded.directory / "small.cpp").read_text()
    assert source.count("type=ram_s2p impl=uram") == len(loaded.parameters.layers)
    assert not list((loaded.directory / "weights").glob("conv8_weights.inc"))


def run_without_parameters(executable: Path, folder: Path, accepted) -> tuple[int, str]:
    _, arguments = write_inputs(load_project(executable.parent), codes(1), folder)
    arguments = arguments[: arguments.index("--parameters")]
    return run_executable(executable, arguments, 1, accepted=accepted)


def test_nothing_comes_out_before_the_weights(loaded, tmp_path):
    status, text = run_without_parameters(
        compile_project(loaded.directory, timed=True), tmp_path, (DEADLOCK_STATUS,)
    )
    assert status == DEADLOCK_STATUS
    assert "'parameter_distributor' waits for stream 'parameters', which is empty" in text
    assert (tmp_path / "out_output.bin").stat().st_size == 0


def test_the_untimed_simulation_names_the_missing_weights(loaded, tmp_path):
    _, text = run_without_parameters(compile_project(loaded.directory), tmp_path, (1,))
    assert "task 'parameter_distributor' reads stream 'parameters' while it is empty" in text


def run_with(executable: Path, parameters: bytes, folder: Path) -> np.ndarray:
    path = folder / "parameters.bin"
    path.write_bytes(parameters)
    _, arguments = write_inputs(load_project(executable.parent), codes(), folder)
    arguments[arguments.index("--parameters") + 1] = str(path)
    run_executable(executable, arguments, FRAMES)
    return np.fromfile(folder / "out_output.bin", np.int8).reshape(FRAMES, 1, 1, 5)


def test_other_weights_give_other_codes(loaded, expected, tmp_path):
    executable = compile_project(loaded.directory)
    content = (loaded.directory / "parameters.bin").read_bytes()
    assert np.array_equal(run_with(executable, content, tmp_path), expected)
    # The first weight of the first layer, and two layers in the wrong order.
    changed = bytes([content[0] ^ 0x40]) + content[1:]
    assert not np.array_equal(run_with(executable, changed, tmp_path), expected)
    assert not np.array_equal(
        run_with(executable, content[256:] + content[:256], tmp_path), expected
    )


def test_too_few_and_uneven_parameters_are_faults(loaded, tmp_path):
    executable = compile_project(loaded.directory)
    content = (loaded.directory / "parameters.bin").read_bytes()
    with pytest.raises(Exception, match="while it is empty"):
        run_with(executable, content[:-16], tmp_path)
    with pytest.raises(Exception, match="still holds 1 tokens"):
        run_with(executable, content + bytes(16), tmp_path)
    with pytest.raises(Exception, match="not whole beats"):
        run_with(executable, content[:-1], tmp_path)


def test_wide_weights_travel_in_two_bytes(hardware_model, tmp_path):
    """Weights of 12 bits: a word of several beats, both signs."""
    model = wide_weights(hardware_model)
    project = generate_project(with_uram(model), tmp_path, "wide")
    vectors = model_vectors(model, project, random_pictures(model, 3))
    found = run_codes(compile_project(project.directory), vectors.inputs)
    for name, wanted in vectors.outputs.items():
        assert np.array_equal(found.outputs[name], wanted)


def wide_weights(model: ModelWrapper) -> ModelWrapper:
    """The model with the weights of one convolution 16 times as large."""
    model = ModelWrapper(model.model.SerializeToString())
    node = model.get_nodes_by_op_type("ParameterStream")[1]
    weights = model.get_initializer(node.input[0])
    model.set_initializer(node.input[0], weights * 16)
    for tensor in (node.input[0], node.output[0]):
        model.set_tensor_datatype(tensor, DataType["INT12"])
    model.get_customop_wrapper(node).set_nodeattr("bits", 12)
    model.get_customop_wrapper(model.find_consumer(node.output[0])).set_nodeattr("weight_bits", 12)
    return model


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 40), st.sampled_from([1, 2])),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**32 - 1),
)
def test_the_file_holds_every_word_in_whole_beats(shapes, seed):
    rng = np.random.default_rng(seed)
    memories = [
        WeightMemory(
            f"m{i}",
            rng.integers(-(2 ** (8 * size - 1)), 2 ** (8 * size - 1), (words, entries)),
            loaded=True,
            code_bytes=size,
        )
        for i, (words, entries, size) in enumerate(shapes)
    ]
    content, at = parameter_bytes(memories), 0
    for memory in memories:
        entries = memory.words.shape[1]
        stride = -(-entries * memory.code_bytes // 16) * 16
        for word in memory.words:
            found = np.frombuffer(content[at : at + stride], f"<i{memory.code_bytes}")
            assert np.array_equal(found[:entries], word) and not found[entries:].any()
            at += stride
    assert at == len(content)


def test_the_block_design_gets_a_parameter_dma(uram_model, loaded, tmp_path):
    write_scripts(uram_model, loaded, load_board("KV260"), tmp_path, 250.0)
    streams = "input slave parameters slave output master"
    run = record("vivado", loaded.directory / "vivado.tcl", streams=streams)
    assert run.status == 0, run.errors
    assert ["dma_parameters/M_AXIS_MM2S", "accelerator/parameters"] in run.of("link")
    run = record("vitis_hls", loaded.directory / "hls.tcl", HLS_STEP="hls")
    assert run.status == 0, run.errors


def test_the_vendor_test_bench_sends_the_parameters(uram_model, tmp_path, cxx):
    project = generate_project(uram_model, tmp_path, "small")
    write_scripts(uram_model, project, load_board("KV260"), tmp_path, 250.0)
    parameters = project.directory / "parameters.bin"
    (project.directory / "vectors" / "parameters.bin").write_bytes(parameters.read_bytes())
    assert vector_test(cxx, project.directory).returncode == 0


def test_a_board_without_uram_is_refused(uram_model, loaded, tmp_path):
    with pytest.raises(UserError, match=r"Ultra96 has no URAM, but .*conv3_weights.* mem_style"):
        write_scripts(uram_model, loaded, load_board("Ultra96"), tmp_path, 214.3)


def test_subprocess_faults_are_one_line(loaded, tmp_path):
    executable = compile_project(loaded.directory)
    _, arguments = write_inputs(load_project(executable.parent), codes(1), tmp_path)
    arguments[arguments.index("--parameters") + 1] = str(tmp_path / "none.bin")
    done = subprocess.run([executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "cannot read parameters" in done.stderr
