"""The cycle-level runtime against hand-written RTL: every cycle number, on random graphs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.simulation.rtl.random_graphs import Graph, StreamShape, TaskShape, random_graph
from tests.simulation.rtl.simulators import (
    Outcome,
    build_rtl,
    build_runtime,
    differences,
    simulate_rtl,
    simulate_runtime,
)

# Verilator runs thousands in seconds; iverilog interprets.
VERILATOR_GRAPHS = 400
IVERILOG_GRAPHS = 100


@pytest.fixture(scope="module")
def rtl_command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return build_rtl(tmp_path_factory.mktemp("rtl"))


@pytest.fixture(scope="module")
def runtime_command(cxx: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return build_runtime(tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="module")
def graphs(rtl_command: list[str]) -> list[Graph]:
    rng = random.Random(2023)
    count = IVERILOG_GRAPHS if rtl_command[0] == "vvp" else VERILATOR_GRAPHS
    return [random_graph(rng) for _ in range(count)]


@pytest.fixture(scope="module")
def rtl(
    rtl_command: list[str], graphs: list[Graph], tmp_path_factory: pytest.TempPathFactory
) -> list[Outcome]:
    return simulate_rtl(rtl_command, graphs, tmp_path_factory.mktemp("rtl_run"))


def all_differences(graphs: list[Graph], rtl: list[Outcome], runtime: list[Outcome]) -> list[str]:
    assert len(rtl) == len(runtime) == len(graphs)
    pairs = zip(graphs, rtl, runtime, strict=True)
    return [text for graph, a, b in pairs for text in differences(graph, a, b)]


def test_every_cycle_and_deadlock_equals_the_rtl(graphs, rtl, runtime_command, tmp_path):
    runtime = simulate_runtime(runtime_command, graphs, tmp_path)
    assert all_differences(graphs, rtl, runtime) == []
    finished = sum(outcome.finished for outcome in rtl)
    assert len(rtl) / 5 < finished < len(rtl) * 4 / 5, "the graphs must cover both outcomes"


@pytest.mark.parametrize(
    "flags",
    [
        ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        ("-O2", "-DFR_FIBER_UCONTEXT"),
    ],
    ids=["sanitised", "ucontext"],
)
def test_other_builds_give_the_same_cycles(cxx, flags, graphs, rtl, tmp_path):
    few = graphs[:60]
    runtime = simulate_runtime(build_runtime(tmp_path, flags), few, tmp_path)
    assert all_differences(few, rtl[:60], runtime) == []


@pytest.mark.parametrize("field", ["interval", "latency", "restart", "iterations"])
def test_a_task_one_cycle_off_is_told_apart(graphs, rtl, runtime_command, tmp_path, field):
    changed = [_one_more(graph, field) for graph in graphs]
    runtime = simulate_runtime(runtime_command, changed, tmp_path)
    assert all_differences(graphs, rtl, runtime) != []


def _one_more(graph: Graph, field: str) -> Graph:
    first = replace(graph.tasks[0], **{field: getattr(graph.tasks[0], field) + 1})
    return replace(graph, tasks=(first, *graph.tasks[1:]))


def test_a_skip_one_token_short_of_the_long_path_deadlocks(rtl_command, runtime_command, tmp_path):
    """Fork, a task that takes 8 tokens before its first write, join: the skip must hold them."""
    outcomes = {}
    for depth in (8, 9, 10, 11):
        graph = _residual_block(depth)
        (rtl,) = simulate_rtl(rtl_command, [graph], tmp_path)
        (runtime,) = simulate_runtime(runtime_command, [graph], tmp_path)
        assert differences(graph, rtl, runtime) == []
        outcomes[depth] = runtime.finished
    assert outcomes == {8: False, 9: True, 10: True, 11: True}


def _residual_block(skip_depth: int) -> Graph:
    plain = TaskShape(iterations=40, interval=1, latency=0, restart=0)
    delayed = replace(plain, iterations=48)
    return Graph(
        frames=3,
        tasks=(plain, delayed, plain),
        streams=(
            StreamShape(0, 1, 2, 40, 0, 1, 0, 1),
            StreamShape(1, 2, 2, 40, 8, 1, 0, 1),
            StreamShape(0, 2, skip_depth, 40, 0, 1, 0, 1),
        ),
    )
