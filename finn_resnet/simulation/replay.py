"""Timing of a recorded design for other stream depths, without its data.

Which streams an iteration reads and writes does not depend on data, so one frame recorded from the
generated C++ gives the timing of every later run, for any depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from finn_resnet.simulation.compiler import compile_replay
from finn_resnet.simulation.measurements import SimulationResult, read_measurements
from finn_resnet.simulation.project import Project
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
