"""Timing of a recorded design for other stream depths, without its data.

Which streams an iteration reads and writes does not depend on data, so one frame recorded from the
generated C++ gives the timing of every later run, for any depths.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from finn_resnet.generation.project_file import Project
from finn_resnet.simulation.compiler import compile_replay
from finn_resnet.simulation.measurements import SimulationResult, read_measurements
from finn_resnet.simulation.run_settings import RunSettings
from finn_resnet.simulation.runner import DEADLOCK_STATUS, run_executable


class Replay:
    """Replays of one recorded pattern."""

    def __init__(self, project: Project, pattern: Path, folder: Path) -> None:
        self.project = project
        self.pattern = pattern
        self.folder = folder
        self.executable = compile_replay()

    def __call__(
        self, settings: RunSettings, frames: int, arguments: Sequence[str] = ()
    ) -> SimulationResult:
        """Replay ``frames`` frames."""
        path, result = self.folder / "replay_settings.txt", self.folder / "replay.json"
        settings.write(path)
        options = ["--pattern", str(self.pattern), "--frames", str(frames)]
        options += ["--settings", str(path), "--result", str(result), *arguments]
        run_executable(self.executable, options, frames, accepted=(0, DEADLOCK_STATUS))
        return read_measurements(result, self.project, frames, settings.restart)


def part_of_pattern(pattern: str, tasks: Container[str], streams: Container[str]) -> str:
    """A recorded pattern (hls/simulation/pattern.hpp) without what is not among the given names.

    What a task reads and writes elsewhere is left out, so it never waits there. Streams are
    numbered anew, because a task's steps name them by their number.
    """
    lines = iter(pattern.splitlines())
    kept: list[str] = []
    numbers: dict[int, int] = {}
    recorded = 0
    for line in lines:
        key, name, *fields = line.split()
        if key == "stream":
            if name in streams:
                numbers[recorded] = len(numbers)
                kept.append(line)
            recorded += 1
            continue
        steps = [next(lines) for _ in range(int(fields[2]))]
        runs = next(lines)
        if name in tasks:
            kept += [line, *(_step_on(step, numbers) for step in steps), runs]
    return "\n".join(kept) + "\n"


def _step_on(step: str, numbers: dict[int, int]) -> str:
    """A step (interval, count and streams read, count and streams written) on those numbered."""
    interval, *words = map(int, step.split())
    sides = words[1 : 1 + words[0]], words[2 + words[0] :]
    text = [str(interval)]
    for side in sides:
        left = [numbers[stream] for stream in side if stream in numbers]
        text += [str(len(left)), *map(str, left)]
    return " ".join(text)
