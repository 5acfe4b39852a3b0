"""Simulate a generated project cycle by cycle."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.generation.project_file import Project, load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.deadlock import find_remedy
from finn_resnet.simulation.declared_depths import demand_declared_depths
from finn_resnet.simulation.measurements import SimulationResult, read_measurements
from finn_resnet.simulation.run_settings import RESTART_CYCLES, RunSettings, fifo_depths
from finn_resnet.simulation.runner import (
    DEADLOCK_STATUS,
    INTERRUPTED_STATUS,
    read_outputs,
    run_executable,
    write_inputs,
)

Progress = Callable[[int, int], None]

_ACCEPTED = (0, DEADLOCK_STATUS, INTERRUPTED_STATUS)
_SEED = 0


class SimulationInterrupted(KeyboardInterrupt):
    """The user stopped a simulation; ``result`` is what it had measured."""

    def __init__(self, result: SimulationResult) -> None:
        super().__init__("simulation interrupted")
        self.result = result


def simulate_project(
    project_dir: str | Path,
    *,
    frames: int = 4,
    depths: Mapping[str, int] | None = None,
    pipeline_depths: Mapping[str, int] | None = None,
    codes: np.ndarray | None = None,
    input_rate: float = 1.0,
    output_rate: float = 1.0,
    restart: int = RESTART_CYCLES,
    trace: Sequence[str] = (),
    progress: Progress | None = None,
) -> SimulationResult:
    """Run overlapping frames through the generated C++, timed as the hardware would be.

    Args:
        project_dir: folder with project.json.
        frames: at least 3, so that a steady state can be told.
        depths: stream depths in tokens in place of the project's, by stream.
        pipeline_depths: stages in place of the modelled ones, by task.
        codes: integers [N, H, W, C] to run, repeated as needed; random ones if None. Timing does
            not depend on them.
        input_rate, output_rate: beats per cycle of the memory sides, above 0, at most 1.
        restart: idle cycles between a task's drained pipeline and its next frame.
        trace: FIFOs whose write and read times are kept.
        progress: called with (frames done, frames).

    Returns:
        The measurements; a deadlock is part of the result, with its smallest remedy.

    Raises:
        UserError: bad arguments, no compiler, or sources with other depths than project.json's.
        SimulationInterrupted: Ctrl-C; carries the partial result.
    """
    _check(frames, input_rate, output_rate)
    folder = Path(project_dir)
    project = load_project(folder)
    demand_declared_depths(project)
    executable = compile_project(folder, timed=True)
    _check_fifos(project, trace)
    settings = project_settings(project, depths, restart, pipeline_depths)
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as scratch:
        rates = ["--input-rate", repr(input_rate), "--output-rate", repr(output_rate)]
        extra = [*rates, *(["--trace", ",".join(trace)] if trace else [])]
        run = TimedRun(project, executable, Path(scratch))
        result = run(settings, frames, codes, extra, progress)
        if result.deadlock:
            deadlock = find_remedy(result, project, settings, run.pattern, Path(scratch), frames)
            result = replace(result, deadlock=deadlock)
    return result


def _check(frames: int, input_rate: float, output_rate: float) -> None:
    if frames < 3:
        raise UserError(f"simulation of {frames} frames shows no steady state; simulate at least 3")
    for name, rate in (("input", input_rate), ("output", output_rate)):
        if not 0 < rate <= 1:
            raise UserError(f"{name} rate {rate} must be above 0 and at most 1 beat per cycle")


def _check_fifos(project: Project, names: Sequence[str]) -> None:
    for name in names:
        if name not in project.stream_of_fifo:
            known = did_you_mean(name, project.stream_of_fifo)
            raise UserError(f"no stream is named '{name}'; {known}")


def project_settings(
    project: Project,
    depths: Mapping[str, int] | None = None,
    restart: int = RESTART_CYCLES,
    pipeline_depths: Mapping[str, int] | None = None,
) -> RunSettings:
    """Settings of a project as generated, with some depths replaced.

    Raises:
        UserError: no stream or task has such a name, or a depth is out of range.
    """
    pipelines = {task.name: task.pipeline_depth for task in project.tasks}
    for name, depth in (pipeline_depths or {}).items():
        if name not in pipelines:
            raise UserError(f"no task is named '{name}'; {did_you_mean(name, pipelines)}")
        if depth < 0:
            raise UserError(f"pipeline depth {depth} of task '{name}' must be at least 0")
        pipelines[name] = depth
    styles = {task.name: task.pipeline_style for task in project.tasks}
    return RunSettings(fifo_depths(project, depths), pipelines, restart, styles=styles)


class TimedRun:
    """Runs of one cycle-level executable; keeps its files in ``folder``."""

    def __init__(self, project: Project, executable: Path, folder: Path) -> None:
        self.project = project
        self.executable = executable
        self.folder = folder
        self.pattern = folder / "pattern.txt"

    def __call__(
        self,
        settings: RunSettings,
        frames: int,
        codes: np.ndarray | Mapping[str, np.ndarray] | None = None,
        arguments: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> SimulationResult:
        """Run ``frames`` frames; ``codes`` as in `simulate_project`, or by input name."""
        result, paths = self.folder / "result.json", self.folder / "settings.txt"
        settings.write(paths)
        _, files = write_inputs(self.project, self._input_codes(frames, codes), self.folder)
        options = ["--settings", str(paths), "--result", str(result)]
        options += ["--pattern", str(self.pattern), *arguments]
        try:
            run_executable(self.executable, [*files, *options], frames, progress, _ACCEPTED)
        except KeyboardInterrupt as interrupt:
            if result.is_file():
                partial = read_measurements(result, self.project, frames, settings.restart)
                raise SimulationInterrupted(partial) from interrupt
            raise
        return read_measurements(result, self.project, frames, settings.restart)

    def output_codes(self, frames: int) -> dict[str, np.ndarray]:
        """Codes [N, H, W, C] of every output port in the last run."""
        return read_outputs(self.project, self.folder, frames)

    def _input_codes(
        self, frames: int, codes: np.ndarray | Mapping[str, np.ndarray] | None
    ) -> dict[str, np.ndarray]:
        if codes is not None:
            named = codes if isinstance(codes, Mapping) else {self.project.inputs[0].name: codes}
            return {name: some[np.arange(frames) % len(some)] for name, some in named.items()}
        rng = np.random.default_rng(_SEED)
        return {
            port.name: rng.integers(
                np.iinfo(port.dtype).min,
                np.iinfo(port.dtype).max,
                (frames, *port.shape[1:]),
                port.dtype,
                endpoint=True,
            )
            for port in self.project.inputs
        }
