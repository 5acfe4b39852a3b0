"""The search for the least stream depths that keep the full rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
        self._run = simulate
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
        return self._shrunk(self._evenly_fed_depths())

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
        self, depths: dict[str, int], spread: dict[str, int] | None = None
    ) -> SimulationResult:
        """One trial; ``spread`` spaces a memory side's beats evenly over so many cycles."""
        self.trials += 1
        fifos = self.fifo_depths(self.project, depths)
        return self._run(replace(self.base, depths=fifos, spread=spread or {}))

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
            if self._holds(depths):
                return self._with_short_windows(depths)
        raise RuntimeError("the window buffers slow the design whatever lies around them")

    def _with_short_windows(self, depths: dict[str, int]) -> dict[str, int]:
        """Two tokens in every window stream that does not limit the rate with them.

        Few do, so whole groups are tried and split where they fail.
        """
        return self._shortened(self._names("window"), depths, known_to_fail=False)

    def _shortened(
        self, group: list[str], depths: dict[str, int], *, known_to_fail: bool
    ) -> dict[str, int]:
        """Depths with two tokens in as many streams of the group as the rate allows."""
        shorter = {**depths, **dict.fromkeys(group, MIN_DEPTH)}
        if not known_to_fail and self._holds(shorter):
            return shorter
        if len(group) < 2:
            return depths
        half = len(group) // 2
        later = self._shortened(group[half:], depths, known_to_fail=False)
        # If all of the later half could be shortened, the rest is the group that has just failed.
        whole = all(later[name] == MIN_DEPTH for name in group[half:])
        return self._shortened(group[:half], later, known_to_fail=whole)

    def _needed(self, result: SimulationResult, stream: ProjectStream) -> int:
        """Depth with which `result` would have been the same, over all lanes."""
        return max(MIN_DEPTH, *(result.stream[fifo].needed_depth for fifo in stream.fifo_names))

    def _evenly_fed_depths(self) -> dict[str, int]:
        """Depths of the schedule with evenly spaced input and unlimited streams."""
        spread = {port.name: self.full_rate for port in self.project.inputs}
        depths = self._unlimited()
        return self._trimmed(self.simulate(depths, spread), depths)

    def _holds(self, depths: dict[str, int]) -> SimulationResult | None:
        """The simulation with these depths if it keeps the full rate."""
        result = self.simulate(depths)
        period = period_of(result)
        return result if period is not None and period <= self.full_rate else None

    def _shrunk(self, depths: dict[str, int]) -> dict[str, int]:
        """Depths after every stream has given up all the steps it can."""
        result = self._holds(depths)
        if result is None:
            raise RuntimeError("the depths of a schedule at the full rate do not keep it")
        depths = self._trimmed(result, depths)
        searched = [stream for stream in self.project.streams if stream.kind in _SEARCHED]
        order = sorted(searched, key=lambda s: -self._storage(s, depths[s.name]))
        for index, stream in enumerate(order):
            if self._progress:
                self._progress(index, len(order))
            while (less := one_step_less(depths[stream.name], stream.width_bits)) is not None:
                found = self._holds({**depths, stream.name: less})
                if found is None:
                    break
                depths = self._trimmed(found, {**depths, stream.name: less})
        return depths

    def _trimmed(self, result: SimulationResult, depths: dict[str, int]) -> dict[str, int]:
        """Depths without the tokens that `result` never used; the run stays the same."""
        return {
            stream.name: min(depths[stream.name], self._needed(result, stream))
            for stream in self.project.streams
        }

    def _storage(self, stream: ProjectStream, depth: int) -> float:
        return len(stream.fifo_names) * storage(depth, stream.width_bits)


def period_of(result: SimulationResult) -> int | None:
    """Cycles per frame; None for a deadlock."""
    return None if result.deadlock else result.cycles_per_frame
