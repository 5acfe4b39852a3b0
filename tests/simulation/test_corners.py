"""The corners of a band of pipeline depths settle whether any point of it stands still."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from finn_resnet.simulation.compiler import compile_replay
from finn_resnet.simulation.corners import adversarial_corners
from finn_resnet.simulation.runner import DEADLOCK_STATUS, run_executable
from tests.simulation.rtl.random_graphs import Graph, StreamShape, TaskShape, random_graph

DIAMOND = {("fork", "slow"), ("slow", "join"), ("fork", "fast"), ("fast", "join")}
GRAPHS = 60


def pattern(graph: Graph) -> str:
    """The graph as a recorded pattern; task t is ``t<t>``, stream s is ``s<s>``."""
    lines = [f"stream s{index} {stream.depth}" for index, stream in enumerate(graph.streams)]
    for index, task in enumerate(graph.tasks):
        steps: list[str] = []
        for k in range(task.iterations):
            reads = [n for n, s in enumerate(graph.streams) if s.reader == index and reads_in(s, k)]
            writes = [
                n for n, s in enumerate(graph.streams) if s.writer == index and writes_in(s, k)
            ]
            sides = [" ".join(map(str, [len(side), *side])) for side in (reads, writes)]
            steps.append(" ".join([str(task.interval), *sides]))
        lines.append(f"task t{index} {task.latency} {task.restart} {len(steps)} {len(steps)}")
        lines += [*steps, " ".join(f"{n} 1" for n in range(len(steps)))]
    return "\n".join(lines) + "\n"


def reads_in(stream: StreamShape, k: int) -> bool:
    at, rest = divmod(k - stream.read_phase, stream.read_period)
    return rest == 0 and 0 <= at < stream.tokens


def writes_in(stream: StreamShape, k: int) -> bool:
    at, rest = divmod(k - stream.write_phase, stream.write_period)
    return rest == 0 and 0 <= at < stream.tokens


def stands_still(graph: Graph, depths: dict[str, int], folder: Path) -> bool:
    """Whether the graph deadlocks with these pipeline depths by task."""
    (folder / "pattern.txt").write_text(pattern(graph))
    settings = folder / "settings.txt"
    settings.write_text("".join(f"pipeline {task} {depth}\n" for task, depth in depths.items()))
    options = ["--pattern", str(folder / "pattern.txt"), "--settings", str(settings)]
    options += ["--frames", str(graph.frames)]
    accepted = (0, DEADLOCK_STATUS)
    status, _ = run_executable(compile_replay(), options, graph.frames, accepted=accepted)
    return status == DEADLOCK_STATUS


def deepest(depth: int) -> int:
    return 2 * depth + 4


def test_a_fork_and_join_has_its_two_adversaries():
    found = adversarial_corners(DIAMOND)
    assert found.circles == 1 and found.complete
    assert any("slow" in deep and "fast" not in deep for deep in found.deep)
    assert any("fast" in deep and "slow" not in deep for deep in found.deep)
    # Whatever the depths of fork and join: they delay both branches alike.
    assert adversarial_corners({("a", "b"), ("b", "c")}).deep == (frozenset("abc"),)


@pytest.mark.parametrize("tasks", [3, 4, 5, 6])
def test_all_circles_of_a_complete_graph_are_found(tasks):
    """K_n has sum over k >= 3 of n! / ((n - k)! 2 k) circles."""
    ends = {(str(a), str(b)) for a in range(tasks) for b in range(a + 1, tasks)}
    count = {3: 1, 4: 7, 5: 37, 6: 197}[tasks]
    assert adversarial_corners(ends).circles == count


def test_no_point_stands_still_where_no_corner_does(cxx, tmp_path):
    """Both ways, on random graphs: the corners decide for every corner and many inner points."""
    rng = random.Random(11)
    decided = {True: 0, False: 0}
    only_inside = 0
    while min(decided.values()) < GRAPHS // 3 or sum(decided.values()) < GRAPHS:
        graph = random_graph(rng)
        small = [replace(task, latency=min(task.latency, 2)) for task in graph.tasks[:6]]
        streams = [s for s in graph.streams if max(s.writer, s.reader) < len(small)]
        graph = Graph(2, tuple(small), tuple(streams))
        modelled = {f"t{index}": task.latency for index, task in enumerate(small)}
        corners = adversarial_corners((f"t{s.writer}", f"t{s.reader}") for s in streams)
        assert corners.complete
        stuck = any(
            stands_still(
                graph, {t: deepest(d) if t in deep else d for t, d in modelled.items()}, tmp_path
            )
            for deep in corners.deep
        )
        decided[stuck] += 1
        if stuck:
            only_inside += not stands_still(graph, modelled, tmp_path)
            continue
        choices = [(depth, deepest(depth)) for depth in modelled.values()]
        for point in rng.sample(list(product(*choices)), min(8, 2 ** len(choices))):
            assert not stands_still(graph, dict(zip(modelled, point, strict=True)), tmp_path)
        inner = {task: rng.randint(depth, deepest(depth)) for task, depth in modelled.items()}
        assert not stands_still(graph, inner, tmp_path)
    # Graphs that run as modelled and stand still elsewhere in the band: what the corners are for.
    assert only_inside > 3


def test_either_branch_alone_deep_stands_still_where_the_model_does_not(cxx, tmp_path):
    plain = TaskShape(iterations=40, interval=1, latency=2, restart=0)
    for deep in ("t1", "t2"):
        streams = [
            StreamShape(0, 1, 2, 40, 0, 1, 0, 1),
            StreamShape(1, 3, 2, 40, 0, 1, 0, 1),
            StreamShape(0, 2, 2, 40, 0, 1, 0, 1),
            StreamShape(2, 3, 2, 40, 0, 1, 0, 1),
        ]
        graph = Graph(2, (plain,) * 4, tuple(streams))
        modelled = {f"t{index}": 2 for index in range(4)}
        assert not stands_still(graph, modelled, tmp_path)
        assert stands_still(graph, {**modelled, deep: 8}, tmp_path)
        assert not stands_still(graph, {**modelled, "t0": 8, "t3": 8}, tmp_path)
        assert not stands_still(graph, dict.fromkeys(modelled, 8), tmp_path)
