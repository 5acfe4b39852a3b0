from __future__ import annotations

import json

import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.simulation.depth_band import DEFAULT_BAND, DepthBand
from finn_resnet.simulation.simulate import simulate_project
from finn_resnet.simulation.size_streams import SizeStreams
from finn_resnet.simulation.stream_storage import MIN_DEPTH, one_step_less, storage
from tests.simulation.conftest import residual_graph


@pytest.fixture(scope="module", params=[(1, 6, 4), (2, 9, 8)], ids=["small", "larger"])
def sized(request, cxx) -> tuple[ModelWrapper, SizeStreams]:
    sizing = SizeStreams()
    return residual_graph(*request.param).model().transform(sizing), sizing


def test_the_sized_design_runs_at_the_full_rate(sized, tmp_path):
    model, sizing = sized
    report = sizing.report
    result = simulate_project(generate_project(model, tmp_path, "net").directory, frames=5)
    assert result.deadlock is None
    assert result.is_steady
    assert result.cycles_per_frame == report.sized_period == report.full_rate_period


def test_depths_are_attributes_of_the_nodes(sized):
    model, sizing = sized
    nodes = {node.name: getCustomOp(node) for node in model.graph.node}
    for stream in sizing.report.streams:
        op = nodes[stream.node]
        if stream.output is None:
            assert json.loads(op.get_nodeattr("internal_depths"))[stream.name] == stream.depth
        else:
            assert op.depths()[stream.output] == stream.depth


def test_no_skip_stream_can_give_up_a_step(sized):
    _, sizing = sized
    report = sizing.report
    for proof in report.skip_proofs:
        assert proof.is_tight
    tight = {proof.stream for proof in report.skip_proofs}
    for stream in report.streams:
        if stream.kind == "skip" and stream.name not in tight:
            assert one_step_less(stream.depth, stream.width_bits) is None


def test_sized_streams_hold_over_the_band(sized, tmp_path):
    """On the compiled C++, at corners and inside; streams sized for the model alone do not."""
    model, sizing = sized
    report = sizing.report.band
    assert report.complete and report.deadlocks == 0
    assert report.worst_period == report.worst_floor
    project = generate_project(model, tmp_path, "net")
    modelled = {task.name: task.pipeline_depth for task in project.tasks}
    points = [{name: DEFAULT_BAND.deepest(depth) for name, depth in modelled.items()}]
    points += DEFAULT_BAND.random_points(modelled, 6, seed=5)
    for point in points:
        found = simulate_project(project.directory, pipeline_depths=point)
        assert found.deadlock is None
        assert found.cycles_per_frame <= report.worst_period


def test_the_band_costs_what_the_report_says(cxx):
    banded, alone = SizeStreams(), SizeStreams(band=DepthBand(1, 0))
    for sizing in (banded, alone):
        residual_graph(1, 6, 4).model().transform(sizing)
    assert alone.report.band is None
    report = banded.report
    assert report.band.added_bits > 0
    assert report.sized_period == alone.report.sized_period
    assert report.sized_bits - report.band.added_bits == alone.report.sized_bits


def test_a_task_that_is_not_there_is_named(cxx, tmp_path):
    project = generate_project(residual_graph(1, 6, 4).model(), tmp_path, "net")
    with pytest.raises(UserError, match="no task is named 'conv9'"):
        simulate_project(project.directory, pipeline_depths={"conv9": 3})
    with pytest.raises(UserError, match="depth -1 of task 'conv1'"):
        simulate_project(project.directory, pipeline_depths={"conv1": -1})


def test_storage_steps():
    for width in (1, 8, 32, 128, 1000):
        depth = 5000
        while (less := one_step_less(depth, width)) is not None:
            assert MIN_DEPTH <= less < depth
            assert storage(less, width) < storage(depth, width)
            depth = less
    # A shift register of up to 32 tokens takes a LUT a bit by the model's high bound.
    assert one_step_less(33, 8) == 32
    assert storage(17, 8) == storage(32, 8)
