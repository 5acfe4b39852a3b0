from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from finn_resnet.simulation.simulate import (
    SimulationInterrupted,
    TimedRun,
    project_settings,
    simulate_project,
)

DEEP = 400


@pytest.fixture(scope="module")
def deep(project_dir) -> dict[str, int]:
    """Depths that cannot limit anything."""
    return {s.name: DEEP for s in load_project(project_dir).streams if s.kind != "parameter"}


def test_codes_equal_those_of_the_untimed_build(project_dir, deep, residual, tmp_path):
    frames = residual.frames(4)["input"]
    project = load_project(project_dir)
    run = TimedRun(project, compile_project(project_dir, timed=True), tmp_path)
    assert not run(project_settings(project, deep), 4, frames).deadlock
    untimed = run_codes(compile_project(project_dir), frames)
    np.testing.assert_array_equal(run.output_codes(4)["output"], untimed.output)


def test_the_period_is_that_of_the_slowest_task(project_dir, deep):
    result = simulate_project(project_dir, frames=5, depths=deep)
    project = load_project(project_dir)
    # oh * ow / ow_par * ich / ich_par * och / och_par, and the drained pipeline between frames
    conv2 = next(task for task in project.tasks if task.name == "conv2")
    assert result.is_steady
    assert result.cycles_per_frame == 6 * 6 * 4 * 2 + conv2.pipeline_depth + result.restart
    assert result.bottleneck.kind == "StreamConv"
    assert result.load(result.bottleneck) == pytest.approx(1, abs=0.01)
    assert 0 < result.first_output_latency <= result.latency


def test_two_runs_are_the_same(project_dir, deep):
    runs = [simulate_project(project_dir, frames=3, depths=deep) for _ in range(2)]
    assert runs[0] == runs[1]


def test_cycles_of_a_task_add_up(project_dir, deep):
    result = simulate_project(project_dir, frames=4, depths=deep)
    for task in result.tasks:
        for frame in task.frames[1:]:
            spent = frame.busy + frame.stalled_on_input + frame.stalled_on_output
            assert frame.end - frame.begin <= spent + task.pipeline_depth


@pytest.mark.parametrize("side", ["input", "output"])
def test_a_slow_memory_side_is_the_bottleneck(project_dir, deep, side):
    beats = {"input": 6 * 6 * 4 // 16, "output": -(-3 * 3 * 4 // 16)}[side]
    result = simulate_project(project_dir, frames=5, depths=deep, **{f"{side}_rate": 0.005})
    assert result.cycles_per_frame == beats * 200
    assert result.bottleneck.name == side


def test_a_traced_stream_holds_what_the_statistics_say(project_dir, deep):
    result = simulate_project(project_dir, depths=deep, trace=["conv1_buffer_forward_0"])
    stream = result.stream["conv1_buffer_forward_0"]
    assert stream.tokens == len(stream.writes) == len(stream.reads) == 4 * 6 * 6 * 4
    assert all(written < read for written, read in zip(stream.writes, stream.reads, strict=True))
    held = [
        sum(written <= cycle for written in stream.writes) - sum(r <= cycle for r in stream.reads)
        for cycle in stream.writes
    ]
    assert max(held) == stream.max_occupancy <= stream.needed_depth <= stream.max_occupancy + 1


def test_needed_depths_give_the_same_cycles(project_dir, deep):
    free = simulate_project(project_dir, depths=deep)
    needed = {name: max(1, stream.needed_depth) for name, stream in free.stream.items()}
    project = load_project(project_dir)
    fifos = {name: needed[name] for name in project.stream_of_fifo}
    assert simulate_project(project_dir, depths=fifos).tasks == free.tasks


def test_a_short_skip_stream_deadlocks_and_the_remedy_is_the_least(project_dir, deep):
    skips = [s.name for s in load_project(project_dir).streams if s.kind == "skip"]
    short = {**deep, **dict.fromkeys(skips, 2)}
    dead = simulate_project(project_dir, depths=short)
    assert dead.deadlock is not None
    assert set(dead.deadlock.circle) <= set(dead.deadlock.waits)
    assert any(wait.state == "full" for wait in dead.deadlock.circle)
    remedy = dead.deadlock.remedy
    assert remedy
    assert simulate_project(project_dir, depths={**short, **remedy}).deadlock is None
    for name, depth in remedy.items():
        less = {**short, **remedy, name: depth - 1}
        assert simulate_project(project_dir, depths=less).deadlock is not None
    with pytest.raises(UserError, match=r"deadlock at cycle \d+: task 'conv.*raise the depth of"):
        dead.demand_progress()


def test_an_interrupt_leaves_what_was_measured(project_dir, deep):
    frames = 100_000

    def interrupt(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(SimulationInterrupted) as caught:
        simulate_project(project_dir, frames=frames, depths=deep, progress=interrupt)
    result = caught.value.result
    assert result.interrupted
    assert result.deadlock is None
    assert 4 <= len(result.frame_ends) < frames
    assert result.is_steady
    assert result.to_dict()["finished_frames"] == len(result.frame_ends)


def test_bad_requests_are_one_line(project_dir):
    with pytest.raises(UserError, match="at least 3"):
        simulate_project(project_dir, frames=2)
    with pytest.raises(UserError, match=r"input rate 1\.5"):
        simulate_project(project_dir, input_rate=1.5)
    with pytest.raises(UserError, match="did you mean 'conv1_out'"):
        simulate_project(project_dir, depths={"conv1_ouut": 3})
    with pytest.raises(UserError, match="no stream is named 'conv1_oat'"):
        simulate_project(project_dir, trace=["conv1_oat"])
    with pytest.raises(UserError, match="depth 0 of stream 'conv1_out'"):
        simulate_project(project_dir, depths={"conv1_out": 0})
