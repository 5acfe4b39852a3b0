"""The frame rate of every pair of a graph (`tests.random_pairs`), simulated against the cost model.

**At the modelled rate** means, with `cycles` the cost model's cycles per frame of a node and
`depth` a task's pipeline depth:

    max over nodes of cycles  <=  simulated period  <=  max over tasks of (cycles + depth + restart)

Never faster than the bound, and slower at most by what a task needs between two frames: its
pipeline drains and the loop starts again (docs/simulation.md). The period is that of the compiled
C++, with the depths that `DepthSearch` finds for the pair alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import load_board
from finn_resnet.generation.project_file import load_project
from finn_resnet.parallelism import estimate
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, DepthSearch
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.replay import Replay, part_of_pattern
from finn_resnet.simulation.run_settings import RESTART_CYCLES, RunSettings
from finn_resnet.simulation.simulate import TimedRun, project_settings
from finn_resnet.simulation.stream_storage import MIN_DEPTH
from tests.random_pairs import Pair, port_names
from tests.stream_graphs import StreamGraph, assert_bit_exact, expected_codes

FRAMES = 5
"""Different frames, overlapping in the timed run."""


@dataclass(frozen=True)
class PairRate:
    """Cycles per frame of one pair.

    ``model`` is the cost model's, ``limit`` the most that counts as at the modelled rate,
    ``unlimited`` the period with unlimited streams, ``sized`` that of the C++ with sized ones.
    ``busy`` holds the nodes whose busiest task has other cycles than the model says: (found, said).
    ``grown`` holds the streams inside window buffers that had to be deeper than their formulas:
    (formula, depth). ``bottleneck`` is the op type of the node with the most cycles.
    """

    pair: Pair
    model: int
    limit: int
    unlimited: int
    sized: int
    busy: dict[str, tuple[int, int]]
    grown: dict[str, tuple[int, int]]
    bottleneck: str

    @property
    def at_rate(self) -> bool:
        """Whether the pair runs at the modelled rate."""
        return self.model <= self.sized <= self.limit


class PairRates:
    """Sizes and times the pairs of one generated project."""

    def __init__(
        self, model: ModelWrapper, project_dir: Path, pairs: Sequence[Pair], folder: Path
    ) -> None:
        self.project = load_project(project_dir)
        self.pairs = pairs
        self.folder = folder
        self.base = project_settings(self.project)
        self.depths: dict[str, int] = {}
        self.run = TimedRun(self.project, compile_project(project_dir, timed=True), folder)
        layers = estimate(model, load_board("KV260")).layers
        self.cycles = {layer.name: layer.cycles for layer in layers}
        self.ops = {layer.name: layer.op for layer in layers}

    def measure(self, frames: Mapping[str, np.ndarray]) -> list[PairRate]:
        """Size every pair, then time all of them in one run over ``frames``."""
        unlimited = DepthSearch.unlimited(self.project)
        recorded = self.run(self._settings(unlimited), 1)
        self.base.ends = {item.name: (item.writer, item.reader) for item in recorded.streams}
        full = {}
        for pair in self.pairs:
            search = self._search(pair)
            full[pair.name] = search.full_rate
            self.depths |= search.least_depths()
        result = self.timed(frames)
        return [self._rate(pair, result, full[pair.name]) for pair in self.pairs]

    def timed(
        self, frames: Mapping[str, np.ndarray], restart: int = RESTART_CYCLES
    ) -> SimulationResult:
        """A run of the C++ with the sized streams over all ``frames``."""
        settings = replace(self._settings(self.depths), restart=restart)
        count = len(next(iter(frames.values())))
        return self.run(settings, count, frames).demand_progress()

    def period(self, pair: Pair, result: SimulationResult) -> int:
        """Cycles between the ends of the pair's last two frames."""
        _, outputs = self._ports(pair)
        return replace(result, outputs=outputs).cycles_per_frame

    def _settings(self, depths: dict[str, int]) -> RunSettings:
        return replace(self.base, depths=DepthSearch.fifo_depths(self.project, depths))

    def _ports(self, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        inputs = port_names(pair.inputs, "input", len(self.project.inputs))
        return inputs, port_names(pair.outputs, "output", len(self.project.outputs))

    def _search(self, pair: Pair) -> DepthSearch:
        inputs, outputs = self._ports(pair)
        project = replace(
            self.project,
            inputs=tuple(port for port in self.project.inputs if port.name in inputs),
            outputs=tuple(port for port in self.project.outputs if port.name in outputs),
            streams=tuple(item for item in self.project.streams if item.node in pair.nodes),
            tasks=tuple(task for task in self.project.tasks if task.node in pair.nodes),
        )
        names = {task.name for task in project.tasks} | {*inputs, *outputs}
        fifos = {*project.stream_of_fifo, *inputs, *outputs}
        pattern = self.folder / f"{pair.name}.txt"
        pattern.write_text(part_of_pattern(self.run.pattern.read_text(), names, fifos))
        replay = Replay(project, pattern, self.folder)
        return DepthSearch(project, self.base, lambda settings: replay(settings, SEARCH_FRAMES))

    def _rate(self, pair: Pair, result: SimulationResult, full: int) -> PairRate:
        tasks = [task for task in result.tasks if task.node in pair.nodes]
        cycles = {node: self.cycles[node] for node in sorted(pair.nodes)}
        slowest = max(cycles, key=lambda node: (cycles[node], self.ops[node] == "StreamConv"))
        busy = {}
        for node in cycles:
            found = max((t.frames[-1].busy for t in tasks if t.node == node), default=None)
            if found not in (None, cycles[node]):
                busy[node] = (found, cycles[node])
        streams = [item for item in self.project.streams if item.node in pair.nodes]
        return PairRate(
            pair,
            model=cycles[slowest],
            limit=max(cycles[t.node] + t.pipeline_depth for t in tasks) + RESTART_CYCLES,
            unlimited=full,
            sized=self.period(pair, result),
            busy=busy,
            grown={
                item.name: (item.depth, self.depths[item.name])
                for item in streams
                if item.kind == "internal" and self.depths[item.name] > max(item.depth, MIN_DEPTH)
            },
            bottleneck=self.ops[slowest],
        )


def measured_rates(
    graph: StreamGraph, pairs: Sequence[Pair], folder: Path
) -> tuple[PairRates, list[PairRate]]:
    """Prove ``pairs`` of ``graph`` bit-exact, untimed and timed, and measure their rates.

    Raises:
        AssertionError: a code differs from the NumPy execution.
        UserError: the pairs with their sized streams deadlock.
    """
    model = graph.model()
    project = assert_bit_exact(graph, folder, FRAMES)
    frames = graph.frames(FRAMES)
    rates = PairRates(model, project.directory, pairs, folder)
    found = rates.measure(frames)
    expected = expected_codes(model, frames)
    timed = rates.run.output_codes(FRAMES)
    for port in project.outputs:
        np.testing.assert_array_equal(timed[port.name], expected[port.tensor])
    return rates, found
