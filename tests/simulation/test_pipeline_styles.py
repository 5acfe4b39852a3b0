"""Pipelines that drain: nothing is ever later than with pipelines that stall."""

from __future__ import annotations

import json
import random
from pathlib import Path

from finn_resnet.simulation.compiler import compile_replay
from finn_resnet.simulation.runner import DEADLOCK_STATUS, run_executable
from tests.simulation.rtl.random_graphs import Graph, StreamShape, TaskShape, random_graph
from tests.simulation.test_corners import pattern

GRAPHS = 80


def run(graph: Graph, styles: dict[int, str], folder: Path) -> dict[str, object]:
    """The result of a replay with these styles, by task number."""
    (folder / "pattern.txt").write_text(pattern(graph))
    lines = [f"style t{task} {style}" for task, style in styles.items()]
    (folder / "settings.txt").write_text("\n".join(lines) + "\n")
    options = ["--pattern", str(folder / "pattern.txt")]
    options += ["--settings", str(folder / "settings.txt"), "--frames", str(graph.frames)]
    options += ["--result", str(folder / "result.json")]
    run_executable(compile_replay(), options, graph.frames, accepted=(0, DEADLOCK_STATUS))
    return json.loads((folder / "result.json").read_text())


def chain(gap: int, latency: int, tokens: int) -> Graph:
    """A source with a token every ``gap`` iterations, a pipeline, a sink."""
    source = TaskShape(iterations=gap * (tokens - 1) + 1, interval=1, latency=0, restart=0)
    middle = TaskShape(iterations=tokens, interval=1, latency=latency, restart=0)
    sink = TaskShape(iterations=tokens, interval=1, latency=0, restart=0)
    streams = (
        StreamShape(0, 1, 2, tokens, 0, gap, 0, 1),
        StreamShape(1, 2, 2, tokens, 0, 1, 0, 1),
    )
    return Graph(1, (source, middle, sink), streams)


def test_tokens_leave_a_pipeline_that_drains_while_it_waits(cxx, tmp_path):
    """Token i is written at 10 i, read one cycle later, leaves 4 later and is read one later."""
    graph = chain(gap=10, latency=4, tokens=5)
    drained = run(graph, {1: "frp"}, tmp_path)["tasks"]
    assert [(task["frames"][0]["begin"], task["frames"][0]["end"]) for task in drained] == [
        (0, 40),
        (1, 45),
        (6, 46),
    ]
    # Stalling, the first token leaves with the read of the fifth.
    stalled = run(graph, {1: "stp"}, tmp_path)["tasks"]
    assert stalled[2]["frames"][0]["begin"] == 42


def test_a_pipeline_that_drains_is_never_later(cxx, tmp_path):
    rng = random.Random(3)
    freed = earlier = 0
    for _ in range(GRAPHS):
        graph = random_graph(rng)
        styles = {task: rng.choice(("frp", "flp", "stp")) for task in range(len(graph.tasks))}
        stalling, draining = run(graph, {}, tmp_path), run(graph, styles, tmp_path)
        if not stalling["finished"]:
            freed += draining["finished"]
            continue
        assert draining["finished"]
        for slow, fast in zip(stalling["tasks"], draining["tasks"], strict=True):
            for before, after in zip(slow["frames"], fast["frames"], strict=True):
                assert after["begin"] <= before["begin"] and after["end"] <= before["end"]
                earlier += after["end"] < before["end"]
    assert freed > 0 and earlier > 0
