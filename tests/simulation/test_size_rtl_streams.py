"""RTL streams by the exact schedule: full rate, least storage, and deadlocks that are told."""

from __future__ import annotations

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.generation.rtl.network_schedule import network_schedule
from finn_resnet.generation.rtl.rtl_network import build_rtl
from finn_resnet.simulation.rtl_schedule import rtl_project, rtl_schedule
from finn_resnet.simulation.size_rtl_streams import SizeRtlStreams
from finn_resnet.simulation.stream_storage import one_step_less
from tests.generation.rtl.test_rtl_network import residual_network, tasks_without_weights
from tests.stream_graphs import StreamGraph


@pytest.fixture(scope="module")
def sized(cxx):
    """A residual network, sized, and what the sizing reports."""
    sizing = SizeRtlStreams(frames=4)
    model = residual_network(StreamGraph(4)).model().transform(sizing)
    return model, sizing.report


def test_the_slowest_task_decides(sized):
    model, report = sized
    network = build_rtl(model, "network")
    result = rtl_schedule(network, 5, trace=True)
    slowest = max(task.frames[-1].busy for task in result.tasks)
    assert result.periods[-2:] == [slowest, slowest]
    assert report.sized_period == report.full_rate_period == slowest
    assert result.is_steady


def test_a_step_less_costs_cycles(sized):
    model, report = sized
    network = build_rtl(model, "network")
    searched = [item for item in report.streams if item.kind in ("activation", "skip", "window")]
    tried = 0
    for item in searched:
        less = one_step_less(item.depth, item.width_bits)
        if less is not None:
            tried += 1
            found = rtl_schedule(network, 3, depths={item.name: less})
            assert found.deadlock or found.cycles_per_frame > report.full_rate_period
    assert tried


def test_depths_are_those_of_the_graph(sized):
    model, report = sized
    for item in report.streams:
        op = getCustomOp(next(node for node in model.graph.node if node.name == item.node))
        assert op.depths()[item.output] == item.depth
    assert "sized" in model.get_metadata_prop("finn_resnet_stream_depths")


def test_a_deadlock_names_its_tasks(cxx):
    """Two paths of unequal length between a fork and an addition."""
    model = tasks_without_weights().model()
    network = build_rtl(model, "network")
    streams = {item.name: 1 for item in rtl_project(network).streams}
    result = rtl_schedule(network, 3, depths=streams)
    assert result.deadlock
    waits = {wait.stream: wait.state for wait in result.deadlock.waits}
    assert waits["in0_out_0"] == "full", waits


def test_spread_input_sets_the_rate(cxx):
    network = build_rtl(tasks_without_weights().model(), "network")
    port = network.inputs[0].name
    result = rtl_schedule(network, 5, spread={port: 5000}, trace=True)
    assert result.periods[-1] == 5000
    assert f"steps {port} 5000" in network_schedule(network, spread={port: 5000})
