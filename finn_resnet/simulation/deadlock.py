"""The smallest change of stream depths that frees a deadlock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from finn_resnet.generation.project_file import Project
from finn_resnet.simulation.measurements import Deadlock, SimulationResult
from finn_resnet.simulation.replay import Replay
from finn_resnet.simulation.run_settings import RunSettings

_MOST_STREAMS = 64


def find_remedy(
    result: SimulationResult,
    project: Project,
    settings: RunSettings,
    pattern: Path,
    folder: Path,
    frames: int,
) -> Deadlock:
    """The deadlock of ``result`` with the depths that free it.

    A deadlock is a circle of tasks that wait for each other; only a deeper one of the full streams
    on it helps. Each of them is let grow token by token whenever the circle closes again, which
    gives its least depth, and the one that adds the least storage is kept. Where another circle
    closes after that, the search goes on with it.

    ``pattern`` is the recorded pattern of the deadlocked run; where it is absent, tokens are
    missing that no depth would bring, and the remedy is empty.
    """
    deadlock = result.deadlock
    if deadlock is None or not pattern.is_file():
        return deadlock
    ends = {stream.name: (stream.writer, stream.reader) for stream in result.streams}
    run = Replay(project, pattern, folder)
    chosen: list[str] = []
    last = result
    while last.deadlock and len(chosen) < _MOST_STREAMS:
        trials = []
        for name in _full_streams(last.deadlock, project):
            grown = [*chosen, name] if name not in chosen else chosen
            fifos = [fifo for item in grown for fifo in _fifos(project, item)]
            trial = run(replace(settings, ends=ends, growable=fifos), frames)
            still = trial.deadlock and name in _full_streams(trial.deadlock, project)
            if not still:
                trials.append((bool(trial.deadlock), _added_bits(trial, settings), grown, trial))
        if not trials:
            return deadlock
        _, _, chosen, last = min(trials, key=lambda trial: trial[:2])
    if last.deadlock:
        return deadlock
    depths = {
        name: max(last.stream[fifo].depth for fifo in _fifos(project, name)) for name in chosen
    }
    before = {name: settings.depths[_fifos(project, name)[0]] for name in chosen}
    grown_depths = {name: depth for name, depth in depths.items() if depth > before[name]}
    return replace(deadlock, remedy=grown_depths, previous_depths=before)


def _full_streams(deadlock: Deadlock, project: Project) -> list[str]:
    """Declarations of the full streams on the circle."""
    owner = project.stream_of_fifo
    full = [wait.stream for wait in deadlock.circle if wait.state == "full"]
    return list(dict.fromkeys(owner[name].name for name in full if name in owner))


def _fifos(project: Project, declaration: str) -> tuple[str, ...]:
    return next(item.fifo_names for item in project.streams if item.name == declaration)


def _added_bits(result: SimulationResult, settings: RunSettings) -> int:
    return sum(
        (stream.depth - settings.depths.get(stream.name, stream.depth)) * stream.width_bits
        for stream in result.streams
    )
