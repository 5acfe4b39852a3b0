"""Cycles of an RTL network, clock by clock and without its data (rtl/simulation/schedule.cpp)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from finn_resnet.generation.project_file import Project, ProjectStream, ProjectTask
from finn_resnet.generation.rtl.network_schedule import network_schedule
from finn_resnet.generation.rtl.rtl_network import RtlNetwork, stream_lanes, stream_width
from finn_resnet.generation.task_code import BEAT_BYTES
from finn_resnet.simulation.compiler import compile_schedule
from finn_resnet.simulation.measurements import (
    FrameActivity,
    SimulationResult,
    TaskActivity,
    read_measurements,
)
from finn_resnet.simulation.runner import DEADLOCK_STATUS, run_executable

_NONE: Mapping[str, int] = MappingProxyType({})


def rtl_project(network: RtlNetwork) -> Project:
    """Streams, tasks and ports of an RTL network in the form of project.json."""
    scheduled = [(context, node) for context, node in network.nodes if node.schedule is not None]
    edges = [
        context.outputs[position]
        for context, node in scheduled
        for positions in node.outputs.values()
        for position in positions
    ]
    return Project(
        directory=Path(),
        top=network.top,
        sources=tuple(network.sources),
        inputs=tuple(network.inputs),
        outputs=tuple(network.outputs),
        parameters=None,
        streams=tuple(
            ProjectStream(
                name=edge.stream,
                lanes=stream_lanes(edge),
                depth=edge.depth,
                width_bits=stream_width(edge),
                kind=edge.kind,
                node=edge.node,
                output=edge.output,
                tensor=edge.tensor,
            )
            for edge in edges
        ),
        tensors=(),
        tasks=tuple(
            ProjectTask(context.name, context.name, context.op.onnx_node.op_type, 0)
            for context, _ in scheduled
        ),
        probes=(),
    )


def rtl_schedule(
    network: RtlNetwork,
    frames: int,
    *,
    depths: Mapping[str, int] = _NONE,
    spread: Mapping[str, int] = _NONE,
    trace: bool = False,
) -> SimulationResult:
    """Run ``frames`` overlapping frames; a deadlock is in the result.

    Args:
        network: the network; memory gives and takes a beat in every clock.
        frames: how many.
        depths: stream -> tokens, in place of the network's own.
        spread: input port -> clocks over which its frames' beats are spaced evenly.
        trace: record the clock in which every token left its writer's module.

    Raises:
        UserError: no C++ compiler.
    """
    program = compile_schedule()
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
        path, result = Path(folder, "network.txt"), Path(folder, "result.json")
        path.write_text(network_schedule(network, depths, spread), encoding="utf-8")
        arguments = [str(path), str(result), str(frames), *(["trace"] if trace else [])]
        run_executable(program, arguments, frames, accepted=(0, DEADLOCK_STATUS))
        found = read_measurements(result, rtl_project(network), frames, restart=0)
    return _with_port_times(network, found) if trace and not found.deadlock else found


def _with_port_times(network: RtlNetwork, result: SimulationResult) -> SimulationResult:
    """The memory sides' frames by the clocks in which their beats pass the ports."""
    beats = {p.name: -(-p.frame_bytes // BEAT_BYTES) for p in (*network.inputs, *network.outputs)}
    tasks = tuple(
        _at_port(task, result.stream[task.name].writes, beats[task.name])
        if task.name in beats
        else task
        for task in result.tasks
    )
    return replace(result, tasks=tasks)


def _at_port(task: TaskActivity, times: tuple[int, ...], beats: int) -> TaskActivity:
    frames = [
        FrameActivity(times[n * beats], times[(n + 1) * beats - 1], beats, 0, 0)
        for n in range(len(times) // beats)
    ]
    return replace(task, frames=tuple(frames))
