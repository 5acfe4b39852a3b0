"""The search for the least stream depths that keep the full rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from finn_resnet.generation.project_file import Project, ProjectStream
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.run_settings import UNLIMITED, RunSettings
from finn_resnet.simulation.stream_storage import MIN_DEPTH, one_step_less, storage

SEARCH_FRAMES = 3
"""Frames of one trial: two periods, which tell a steady state."""

_SEARCHED = ("activation", "skip", "window")
_MORE_TOKENS = (0, 2, 14, 62, 254)


class DepthSearch:
    """The search on one recorded design; depths are by stream declaration, in tokens.

    Args:
        project: streams, ports and tasks.
        base: settings of every trial but for depths and spread; with the streams' ends, so that a
            deadlocked trial ends at once.
        simulate: runs `SEARCH_FRAMES` frames with the given settings.
        progress: called with (streams finished, streams).
    """

    def __init__(
        self,
        project: Project,
        base: RunSettings,
        simulate: Callable[[RunSettings], SimulationResult],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.project = project
        self.base = base
        self.trials = 0
        self.run = simulate
        self._progress = progress
        self.full_rate = self._full_rate()

    def _full_rate(self) -> int:
        """Frame period with unlimited streams: that of the slowest task.

        A task begins its frames at least its own period apart, at once; the outputs may come
        faster for many frames, while what the start held back catches up.
        """
        result = self.simulate(self.unlimited(self.project))
        return max(task.frames[-1].begin - task.frames[-2].begin for task in result.tasks)

    def least_depths(self) -> dict[str, int]:
        """The depths found; `full_rate` is their period."""
        unlimited = self._with_short_windows(self._unlimited())
        return self._shrunk(self._evenly_fed_depths(unlimited), {})

    def widened(self, depths: dict[str, int]) -> dict[str, int]:
        """The least growth of ``depths`` with which this design too keeps its full rate.

        Deeper streams delay nothing, so what runs with ``depths`` runs as fast with the result.
        """
        if self.holds(depths):
            return depths
        fed = self._evenly_fed_depths(self._unlimited())
        grown = {name: max(depth, fed[name]) for name, depth in depths.items()}
        order = sorted(
            (item for item in self.project.streams if grown[item.name] > depths[item.name]),
            key=lambda item: -self._storage(item, grown[item.name]),
        )
        grown = self._shortened([item.name for item in order], grown, depths, known_to_fail=True)
        return self._shrunk(grown, depths)

    @staticmethod
    def unlimited(project: Project) -> dict[str, int]:
        """Depths that limit nothing; parameter streams need no more than two tokens."""
        return {
            stream.name: MIN_DEPTH if stream.kind == "parameter" else UNLIMITED
            for stream in project.streams
        }

    @staticmethod
    def fifo_depths(project: Project, depths: dict[str, int]) -> dict[str, int]:
        """Depth of every single FIFO."""
        return {
            fifo: depths[stream.name] for stream in project.streams for fifo in stream.fifo_names
        }

    def simulate(
        self,
        depths: dict[str, int],
        spread: dict[str, int] | None = None,
        pipeline_depths: dict[str, int] | None = None,
    ) -> SimulationResult:
        """One trial; ``spread`` spaces a memory side's beats evenly over so many cycles.

        ``pipeline_depths`` by task take the place of the search's own.
        """
        self.trials += 1
        fifos = self.fifo_depths(self.project, depths)
        pipelines = self.base.pipeline_depths | (pipeline_depths or {})
        return self.run(
            replace(self.base, depths=fifos, spread=spread or {}, pipeline_depths=pipelines)
        )

    def _names(self, *kinds: str) -> list[str]:
        return [stream.name for stream in self.project.streams if stream.kind in kinds]

    def _unlimited(self) -> dict[str, int]:
        """Unlimited streams, but for those outside the search."""
        for more in _MORE_TOKENS:
            depths = {
                stream.name: max(stream.depth, MIN_DEPTH) + more
                for stream in self.project.streams
                if stream.kind == "internal"
            }
            depths.update(dict.fromkeys(self._names("parameter"), MIN_DEPTH))
            depths.update(dict.fromkeys(self._names(*_SEARCHED), UNLIMITED))
            if self.holds(depths):
                return depths
        raise RuntimeError("the window buffers slow the design whatever lies around them")

    def _with_short_windows(self, depths: dict[str, int]) -> dict[str, int]:
        """Two tokens in every window stream that does not limit the rate with them.

        Few do, so whole groups are tried and split where they fail.
        """
        windows = self._names("window")
        return self._shortened(
            windows, depths, dict.fromkeys(windows, MIN_DEPTH), known_to_fail=False
        )

    def _shortened(
        self,
        group: list[str],
        depths: dict[str, int],
        short: dict[str, int],
        *,
        known_to_fail: bool,
    ) -> dict[str, int]:
        """Depths with those of ``short`` in as many streams of the group as the rate allows."""
        shorter = {**depths, **{name: short[name] for name in group}}
        if not known_to_fail and self.holds(shorter):
            return shorter
        if len(group) < 2:
            return depths
        half = len(group) // 2
        later = self._shortened(group[half:], depths, short, known_to_fail=False)
        # If all of the later half could be shortened, the rest is the group that has just failed.
        whole = all(later[name] == short[name] for name in group[half:])
        return self._shortened(group[:half], later, short, known_to_fail=whole)

    def _needed(self, result: SimulationResult, stream: ProjectStream) -> int:
        """Depth with which `result` would have been the same, over all lanes."""
        return max(MIN_DEPTH, *(result.stream[fifo].needed_depth for fifo in stream.fifo_names))

    def _evenly_fed_depths(self, depths: dict[str, int]) -> dict[str, int]:
        """Depths of the schedule with evenly spaced input and these, unlimited, streams."""
        spread = {port.name: self.full_rate for port in self.project.inputs}
        return self._trimmed(self.simulate(depths, spread), depths)

    def holds(self, depths: dict[str, int]) -> SimulationResult | None:
        """The simulation with these depths if it keeps the full rate."""
        result = self.simulate(depths)
        period = period_of(result)
        return result if period is not None and period <= self.full_rate else None

    def _shrunk(self, depths: dict[str, int], least: dict[str, int]) -> dict[str, int]:
        """Depths after every stream has given up all the steps it can, down to ``least``."""
        result = self.holds(depths)
        if result is None:
            raise RuntimeError("the depths of a schedule at the full rate do not keep it")
        depths = self._trimmed(result, depths, least)
        searched = [
            stream
            for stream in self.project.streams
            if depths[stream.name] > least.get(stream.name, MIN_DEPTH)
            and (least or stream.kind in _SEARCHED)
        ]
        order = sorted(searched, key=lambda s: -self._storage(s, depths[s.name]))
        for index, stream in enumerate(order):
            if self._progress:
                self._progress(index, len(order))
            floor = least.get(stream.name, MIN_DEPTH)
            while (less := one_step_less(depths[stream.name], stream.width_bits)) is not None:
                less = max(less, floor)
                if less == depths[stream.name]:
                    break
                found = self.holds({**depths, stream.name: less})
                if found is None:
                    break
                depths = self._trimmed(found, {**depths, stream.name: less}, least)
        return depths

    def _trimmed(
        self,
        result: SimulationResult,
        depths: dict[str, int],
        least: Mapping[str, int] = MappingProxyType({}),
    ) -> dict[str, int]:
        """Depths without the tokens above ``least`` that `result` never used; it stays the same."""
        return {
            name: min(depths[name], max(self._needed(result, stream), least.get(name, MIN_DEPTH)))
            for stream in self.project.streams
            for name in (stream.name,)
        }

    def _storage(self, stream: ProjectStream, depth: int) -> float:
        return len(stream.fifo_names) * storage(depth, stream.width_bits)


def period_of(result: SimulationResult) -> int | None:
    """Cycles per frame; None for a deadlock."""
    return None if result.deadlock else result.cycles_per_frame
