from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from finn_resnet.generation.project_file import Project, load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, DepthSearch
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.replay import Replay, part_of_pattern
from finn_resnet.simulation.simulate import TimedRun, project_settings

DEPTHS = (2, 16, 64)


@pytest.fixture(scope="module")
def recorded(project_dir, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, TimedRun]:
    """A design, and the run that recorded one frame of it."""
    project = load_project(project_dir)
    folder = tmp_path_factory.mktemp("recorded")
    run = TimedRun(project, compile_project(project_dir, timed=True), folder)
    unlimited = DepthSearch.fifo_depths(project, DepthSearch.unlimited(project))
    run(replace(project_settings(project), depths=unlimited), 1)
    return project, run


def replays(
    recorded: tuple[Project, TimedRun], streams_out: str, tasks_out: str, folder: Path
) -> list[tuple[SimulationResult, SimulationResult]]:
    """Replays of the whole, and of it without streams and tasks of a kind, at several depths."""
    project, run = recorded
    streams = tuple(stream for stream in project.streams if stream.kind != streams_out)
    tasks = tuple(task for task in project.tasks if task.kind != tasks_out)
    part = replace(project, streams=streams, tasks=tasks)
    ports = {port.name for port in (*project.inputs, *project.outputs)}
    names, fifos = {task.name for task in tasks} | ports, {*part.stream_of_fifo, *ports}
    pattern = folder / "part.txt"
    pattern.write_text(part_of_pattern(run.pattern.read_text(), names, fifos))
    found = []
    for depth in DEPTHS:
        depths = {
            item.name: depth if item.kind in ("activation", "skip") else item.depth
            for item in project.streams
        }
        settings = project_settings(project, depths)
        whole = Replay(project, run.pattern, folder)(settings, SEARCH_FRAMES)
        found.append((whole, Replay(part, pattern, folder)(settings, SEARCH_FRAMES)))
    return found


def test_parameter_tasks_change_no_timing(recorded, tmp_path):
    for whole, part in replays(recorded, "parameter", "ParameterStream", tmp_path):
        assert len(part.tasks) < len(whole.tasks)
        assert (part.deadlock is None) == (whole.deadlock is None)
        if whole.deadlock is None:
            assert part.frame_ends == whole.frame_ends
            assert [s for s in whole.streams if s.name in part.stream] == list(part.streams)


def test_what_is_left_out_is_waited_for_no_more(recorded, tmp_path):
    """Negative control: without its skip connections the design no longer deadlocks."""
    results = replays(recorded, "skip", "none", tmp_path)
    assert any(whole.deadlock and not part.deadlock for whole, part in results)
