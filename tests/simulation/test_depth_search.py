"""The depth search on random residual networks, recorded by hand: no C++ project is compiled."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from finn_resnet.generation.project_file import Project, ProjectPort, ProjectStream, ProjectTask
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, DepthSearch, period_of
from finn_resnet.simulation.replay import Replay
from finn_resnet.simulation.run_settings import RunSettings
from finn_resnet.simulation.stream_storage import one_step_less

NETWORKS = 25
FRAMES = 6


@dataclass
class RecordedNetwork:
    """Residual blocks in a row, as the text that a simulation records.

    A block is a fork, a long branch whose task holds back its first tokens (a window buffer) and
    takes several cycles a token, and a join.
    """

    rng: random.Random
    tokens: int

    def __post_init__(self) -> None:
        self.streams: list[tuple[str, str]] = []
        self.ends: dict[str, tuple[str, str]] = {}
        self.tasks: list[str] = []
        self.task_lines: list[str] = []

    def stream(self, kind: str, writer: str, reader: str) -> int:
        name = f"{kind}{len(self.streams)}"
        self.streams.append((name, kind))
        self.ends[name] = (writer, reader)
        return len(self.streams) - 1

    def task(self, name: str, steps: list[tuple], runs: list[tuple[int, int]], depth=0) -> None:
        """``steps``: (interval, reads, writes); ``runs``: (step, iterations)."""
        self.tasks.append(name)
        self.task_lines.append(f"task {name} {depth} {2 if depth else 0} {len(steps)} {len(runs)}")
        for interval, reads, writes in steps:
            numbers = [interval, len(reads), *reads, len(writes), *writes]
            self.task_lines.append(" ".join(map(str, numbers)))
        self.task_lines.append(" ".join(f"{step} {count}" for step, count in runs))

    def block(self, index: int, source: int) -> int:
        rng = self.rng
        held = rng.randint(1, self.tokens // 2)
        slow = rng.randint(1, 4)
        fork, branch, join = f"fork{index}", f"branch{index}", f"join{index}"
        self.ends[self.streams[source][0]] = (self.ends[self.streams[source][0]][0], fork)
        long_in = self.stream("activation", fork, branch)
        skip = self.stream("skip", fork, join)
        long_out = self.stream("activation", branch, join)
        out = self.stream("activation", join, "output")
        depth = rng.randint(1, 8)
        self.task(fork, [(1, [source], [long_in, skip])], [(0, self.tokens)], 1)
        self.task(
            branch,
            [(1, [long_in], []), (slow, [long_in], [long_out]), (slow, [], [long_out])],
            [(0, held), (1, self.tokens - held), (2, held)],
            depth,
        )
        self.task(join, [(1, [long_out, skip], [out])], [(0, self.tokens)], 2)
        return out

    def record(self, folder: Path, blocks: int) -> tuple[Project, RunSettings, Path]:
        source = self.stream("port", "input", "fork0")
        for index in range(blocks):
            source = self.block(index, source)
        self.ends[self.streams[source][0]] = (f"join{blocks - 1}", "output")
        self.task("input", [(1, [], [0])], [(0, self.tokens)])
        self.task("output", [(1, [source], [])], [(0, self.tokens)])
        path = folder / "pattern.txt"
        lines = [f"stream {name} 2" for name, _ in self.streams]
        path.write_text("\n".join([*lines, *self.task_lines]) + "\n")
        return self.project(), RunSettings({}, ends=self.ends), path

    def project(self) -> Project:
        streams = tuple(
            ProjectStream(name, 0, 2, self.rng.choice((8, 16, 32, 72)), kind, name, 0)
            for name, kind in self.streams
            if kind != "port"
        )
        ports = [
            ProjectPort(name, name, name, (1, 1, self.tokens, 1), 1, True)
            for name in ("input", "output")
        ]
        tasks = tuple(ProjectTask(name, name, "", 0) for name in self.tasks)
        return Project(Path(), "net", (), (ports[0],), (ports[1],), None, streams, (), tasks, ())


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_least_depths_keep_the_rate_and_one_step_less_does_not(cxx, seed, tmp_path):
    rng = random.Random(seed)
    network = RecordedNetwork(rng, tokens=rng.randint(20, 300))
    project, base, pattern = network.record(tmp_path, rng.randint(1, 3))
    replay = Replay(project, pattern, tmp_path)
    search = DepthSearch(project, base, lambda settings: replay(settings, SEARCH_FRAMES))
    depths = search.least_depths()

    def period(chosen: dict[str, int]) -> int | None:
        settings = RunSettings(DepthSearch.fifo_depths(project, chosen), ends=base.ends)
        return period_of(replay(settings, FRAMES))

    assert period(depths) == search.full_rate == period(DepthSearch.unlimited(project))
    for stream in project.streams:
        less = one_step_less(depths[stream.name], stream.width_bits)
        if stream.kind == "skip" and less is not None:
            slower = period({**depths, stream.name: less})
            assert slower is None or slower > search.full_rate
