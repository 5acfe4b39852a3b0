"""Generated projects: deterministic, whole or not at all, warning-free, described."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import ProjectProbe, load_project
from finn_resnet.numerics.ranges import Range
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from finn_resnet.simulation.size_streams import SizeStreams
from finn_resnet.transformation import FuseRequantChains, LowerToHardware, SetStreamDepths
from tests.generation.test_ap_int import every_kind_of_node
from tests.qonnx_models import residual_network
from tests.stream_graphs import INT8, UINT8, FusedGraph, StreamGraph, expected_codes, shift_to

_STATEMENTS = ("fr::stream<", "FR_NAMED(", "FR_TASK(", "FR_DATAFLOW_END(")


def content(folder) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def residual_block() -> StreamGraph:
    graph = StreamGraph(4)
    x = graph.input((5, 5, 3), UINT8)
    first, skip = graph.conv(
        "conv0",
        x,
        graph.random_weights(3, 3, 3, 3),
        pads=(1, 1, 1, 1),
        factors=(2, 1, 2),
        forward=True,
    )
    second = graph.conv(
        "conv1",
        first,
        graph.random_weights(3, 3, 3, 3),
        pads=(1, 1, 1, 1),
        factors=(2, 3, 2),
        skip=skip,
        skip_form="epilogue",
        shifts=(1, 2),
    )[0]
    graph.output(second)
    return graph


def test_same_graph_same_bytes(tmp_path):
    graph = residual_block().model()
    first = content(generate_project(graph, tmp_path / "a", "block").directory)
    second = content(generate_project(graph, tmp_path / "b", "block").directory)
    assert first == second
    assert {"block.cpp", "block.hpp", "config.hpp", "testbench.cpp", "project.json"} <= set(first)


def test_failed_generation_keeps_the_earlier_project(tmp_path):
    project = generate_project(residual_block().model(), tmp_path, "block")
    before = content(project.directory)
    broken = residual_block().model()
    broken.set_initializer("conv0_weights_array", np.full((3, 3, 3, 3), 1000.0))
    with pytest.raises(ValueError, match="outside their datatype"):
        generate_project(broken, tmp_path, "block")
    assert content(project.directory) == before
    assert [path.name for path in tmp_path.iterdir()] == ["hls"]


def test_neighbours_that_disagree_are_refused(tmp_path):
    graph = StreamGraph(1)
    x = graph.input((4, 4, 4), UINT8, lanes=2, ch_par=2)
    graph.output(x)
    model = graph.model()
    sink = next(node for node in model.graph.node if node.op_type == "OutputDMA")
    next(a for a in sink.attribute if a.name == "lanes").i = 1
    with pytest.raises(
        UserError, match="in0 writes 4x4x4 in 2 lanes of 2 codes but out0 reads 4x4x4 in 1 lanes"
    ):
        generate_project(model, tmp_path, "network")


@pytest.mark.parametrize("name", ["", "8net", "my-net", "int", "namespace", "main", "_net"])
def test_illegal_top_names(name, tmp_path):
    with pytest.raises(UserError, match="top_name"):
        generate_project(residual_block().model(), tmp_path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_no_warning_and_no_line_too_long(kind, cxx, tmp_path):
    folder = generate_project(every_kind_of_node(kind).model(), tmp_path, "network").directory
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    sources = ["network.cpp", "testbench.cpp"]
    command = [cxx, *flags, "-I.", "-Iinclude", *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in (*sources, "config.hpp", "network.hpp"):
        assert max(map(len, (folder / name).read_text().splitlines())) <= 100, name


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_top_is_in_canonical_dataflow_form(kind, tmp_path):
    """The top's body holds declarations and task calls only; every stream is used twice."""
    project = generate_project(every_kind_of_node(kind).model(), tmp_path, "network")
    source = (project.directory / "network.cpp").read_text()
    body = source[source.rindex("void network(") :]
    statements = re.sub(r"^#.*$", "", body[body.index("{") + 1 : body.rindex("}")], flags=re.M)
    for statement in filter(None, map(str.strip, statements.split(";\n"))):
        assert statement.startswith(_STATEMENTS), statement
    calls = "\n".join(s for s in statements.split(";\n") if "FR_TASK(" in s)
    for stream in project.streams:
        assert f"#pragma HLS stream variable={stream.name} depth={stream.depth}" in body
        assert re.search(rf"\b{stream.name}\b", calls)
    assert "#pragma HLS interface ap_ctrl_none port=return" in body


def test_description_names_every_stream_and_task(tmp_path):
    project = generate_project(residual_block().model(), tmp_path, "block")
    assert load_project(project.directory) == project
    streams = {stream.name: stream for stream in project.streams}
    assert streams["conv0_buffer_forward"].kind == "skip"
    assert streams["conv0_weights_stream"].kind == "parameter"
    assert streams["conv0_buffer_window"].width_bits == 3 * 4 * 1 * 8
    kinds = {task.kind for task in project.tasks}
    assert {"InputDMA", "WindowBuffer", "ParameterStream", "StreamConv", "OutputDMA"} <= kinds


def test_depths_follow_the_node(tmp_path):
    model = residual_block().model()
    node = next(n for n in model.graph.node if n.name == "conv0")
    model.get_customop_wrapper(node).set_nodeattr("out_depths", [37])
    project = generate_project(model, tmp_path, "block")
    (stream,) = [s for s in project.streams if s.name == "conv0_out"]
    assert stream.depth == 37
    assert "FR_NAMED(conv0_out, 37);" in (project.directory / "block.cpp").read_text()


def test_accumulators_get_their_exact_width(tmp_path):
    """One weight of 100 on codes 0..255 with bias 0: 25500 needs 16 signed bits."""
    graph = StreamGraph(1)
    weights = np.zeros((1, 1, 1, 2), int)
    weights[..., 0] = 100
    out = graph.conv("conv", graph.input((2, 2, 2), UINT8), weights)[0]
    graph.output(out)
    model = graph.model()
    model.set_initializer("conv_bias", np.zeros(1, np.float32))
    project = generate_project(model, tmp_path, "network")
    config = (project.directory / "config.hpp").read_text()
    assert "static constexpr int acc_bits = 16;" in config


def arrange(values: np.ndarray, record: ProjectProbe) -> np.ndarray:
    """Probe values [N, count] in tensor order, from the order project.json documents."""
    _, h, w, c = record.shape
    out = np.empty((len(values), h, w, c), np.int64)
    order = [
        (row, column, channel)
        for row in range(h)
        for first in range(0, w, record.lanes)
        for base in range(0, c, record.ch_par)
        for column in range(first, min(first + record.lanes, w))
        for channel in range(base, min(base + record.ch_par, c))
    ]
    assert len(order) == values.shape[1]
    for index, position in enumerate(order):
        out[(slice(None), *position)] = values[:, index]
    return out


@pytest.mark.slow
def test_probes_record_the_accumulators(tmp_path):
    graph = residual_block()
    model, frames = graph.model(), graph.frames(3)
    project = generate_project(model, tmp_path, "block")
    run = run_codes(compile_project(project.directory, probes=True), frames, probes=True)
    expected = expected_codes(model, frames)
    records = {(p.node, p.kind): p for p in project.probes}
    for name, kind in (("conv0", "total"), ("conv1", "acc"), ("conv1", "total")):
        node = next(n for n in model.graph.node if n.name == name)
        op = model.get_customop_wrapper(node)
        for removed in ("requant",) if kind == "total" else ("requant", "skip"):
            op.set_nodeattr(removed, "none" if removed == "skip" else "")
        inputs = [expected[tensor] for tensor in node.input[: 3 if kind == "acc" else None]]
        record = records[name, kind]
        probed = arrange(run.probes[record.id], record)
        np.testing.assert_array_equal(probed, op.compute(inputs)[0], err_msg=f"{name} {kind}")
        op.set_nodeattr("skip", "epilogue" if name == "conv1" else "none")


@pytest.mark.slow
def test_one_changed_weight_changes_the_codes(tmp_path):
    """Negative control of every comparison here: the C++ really uses the weight files."""
    graph = residual_block()
    model, frames = graph.model(), graph.frames(3)
    project = generate_project(model, tmp_path, "block")
    path = project.directory / "weights" / "conv1_weights.inc"
    text = path.read_text()
    first = re.search(r"-?\d+", text)
    changed = str(int(first[0]) // 2 - 1)
    path.write_text(text[: first.start()] + changed + text[first.end() :])
    run = run_codes(compile_project(project.directory), frames)
    assert not np.array_equal(run.output, expected_codes(model, frames)["out0_host"])


@pytest.mark.slow
def test_wide_operands_are_not_packed(tmp_path):
    """12-bit codes do not fit the packed port: plain multipliers, still exact."""
    graph = StreamGraph(2)
    x = graph.input((3, 3, 2), Range(-2048, 2047))
    out = graph.conv(
        "conv",
        x,
        graph.random_weights(2, 3, 3, 2),
        pads=(1, 1, 1, 1),
        factors=(2, 1, 2),
        requant=shift_to(INT8, 12),
    )[0]
    graph.output(out)
    model, frames = graph.model(), graph.frames(3)
    project = generate_project(model, tmp_path, "network")
    assert "port_operands = 1;" in (project.directory / "config.hpp").read_text()
    run = run_codes(compile_project(project.directory, sanitise=True), frames)
    np.testing.assert_array_equal(run.output, expected_codes(model, frames)["out0_host"])


@pytest.mark.slow
def test_sources_say_whether_the_stream_depths_are_proven(tmp_path) -> None:
    model = residual_network(size=4)
    for step in (LowerToHardware(), FuseRequantChains(), SetStreamDepths()):
        model = model.transform(step)
    assert "UNPROVEN" in first_line_of_top(model, tmp_path)
    sized = model.transform(SizeStreams())
    assert "proven to run at the full rate" in first_line_of_top(sized, tmp_path)
    assert "UNPROVEN" in first_line_of_top(sized.transform(SetStreamDepths()), tmp_path)


def first_line_of_top(model, folder) -> str:
    project = generate_project(model, folder, "net")
    return (project.directory / "net.cpp").read_text().splitlines()[0]


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_tasks_have_the_pipeline_style_of_their_loops(kind, tmp_path):
    project = generate_project(every_kind_of_node(kind).model(), tmp_path, "network")
    sources = [project.directory / "network.cpp", *project.directory.glob("include/*.hpp")]
    text = "\n".join(path.read_text() for path in sources)
    styles = re.findall(r"#pragma HLS pipeline(?: II ?= ?\w+)?(?: style ?= ?(\w+))?", text)
    assert styles and {task.pipeline_style for task in project.tasks} == set(styles)
