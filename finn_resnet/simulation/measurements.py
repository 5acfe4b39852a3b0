"""What a cycle-level simulation measured. All times are clock cycles from the first cycle on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import Project


@dataclass(frozen=True)
class FrameActivity:
    """One frame of a task: its first iteration, its last event, and where the cycles went."""

    begin: int
    end: int
    busy: int
    stalled_on_input: int
    stalled_on_output: int


@dataclass(frozen=True)
class TaskActivity:
    """A task; ``node`` is its hardware node, or the port's name for a memory side."""

    name: str
    node: str
    kind: str
    pipeline_depth: int
    frames: tuple[FrameActivity, ...]


@dataclass(frozen=True)
class StreamActivity:
    """One FIFO.

    ``max_occupancy`` is in tokens, after a clock edge. ``needed_depth`` is the depth with which
    the run would have been cycle for cycle the same. ``empty_stalls`` are the cycles its reader
    lost to it, ``full_stalls`` those its writer lost. ``writes`` and ``reads`` hold the time of
    every token, for traced streams only.
    """

    name: str
    depth: int
    width_bits: int
    kind: str
    tokens: int
    max_occupancy: int
    needed_depth: int
    empty_stalls: int
    full_stalls: int
    writer: str
    reader: str
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Wait:
    """A task that waits for a stream that is ``empty`` or ``full``."""

    task: str
    node: str
    stream: str
    state: str
    frame: int
    cycle: int

    def __str__(self) -> str:
        return (
            f"task '{self.task}' waits for stream '{self.stream}', which is {self.state} "
            f"(frame {self.frame}, cycle {self.cycle})"
        )


@dataclass(frozen=True)
class Deadlock:
    """A network that stands still.

    ``waits`` are all blocked tasks; ``circle`` those among them that wait for each other.
    ``remedy`` maps streams to the depth (tokens) that lets the network run to its end, the least
    storage found; empty if no depths would.
    """

    waits: tuple[Wait, ...]
    circle: tuple[Wait, ...]
    remedy: dict[str, int]
    previous_depths: dict[str, int]

    @property
    def cycle(self) -> int:
        """The cycle in which the last task of the network stopped."""
        return max(wait.cycle for wait in self.waits)

    def __str__(self) -> str:
        circle = "; ".join(map(str, self.circle or self.waits[:4]))
        changes = ", ".join(
            f"'{name}' from {self.previous_depths[name]} to {depth}"
            for name, depth in self.remedy.items()
        )
        remedy = f"raise the depth of {changes}" if changes else "no stream depth would help"
        return f"deadlock at cycle {self.cycle}: {circle}; {remedy}"


@dataclass(frozen=True)
class SimulationResult:
    """A cycle-level run of ``frames`` overlapping frames.

    ``outputs`` are the names of the output ports. ``interrupted`` runs hold what was measured
    until then.
    """

    frames: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    restart: int
    tasks: tuple[TaskActivity, ...]
    streams: tuple[StreamActivity, ...]
    deadlock: Deadlock | None = None
    interrupted: bool = False

    @cached_property
    def _task(self) -> dict[str, TaskActivity]:
        return {task.name: task for task in self.tasks}

    @cached_property
    def stream(self) -> dict[str, StreamActivity]:
        """The FIFOs by name."""
        return {stream.name: stream for stream in self.streams}

    @cached_property
    def frame_ends(self) -> list[int]:
        """The cycle in which the last beat of each finished frame left."""
        ports = [self._task[name].frames for name in self.outputs]
        full = min(len(frames) for frames in ports)
        if self.deadlock or self.interrupted:
            full -= 1  # the frame a port was in has not ended
        return [max(frames[i].end for frames in ports) for i in range(full)]

    @property
    def periods(self) -> list[int]:
        """Cycles between the ends of consecutive frames."""
        return [b - a for a, b in zip(self.frame_ends, self.frame_ends[1:], strict=False)]

    @property
    def cycles_per_frame(self) -> int:
        """Cycles per frame of the last two frames.

        Raises:
            ValueError: fewer than two frames were finished.
        """
        if not self.periods:
            raise ValueError("fewer than two frames were simulated to their end")
        return self.periods[-1]

    @property
    def is_steady(self) -> bool:
        """Whether the last two periods are equal (three frames or more)."""
        return len(self.periods) >= 2 and self.periods[-1] == self.periods[-2]

    @property
    def first_output_latency(self) -> int:
        """Cycles from the first input beat to the first output beat of frame 0, both included."""
        begin = min(self._task[name].frames[0].begin for name in self.inputs)
        return min(self._task[name].frames[0].begin for name in self.outputs) - begin + 1

    @property
    def latency(self) -> int:
        """Cycles from the first input beat to the last output beat of frame 0, both included."""
        begin = min(self._task[name].frames[0].begin for name in self.inputs)
        return self.frame_ends[0] - begin + 1

    def load(self, task: TaskActivity) -> float:
        """Share of the frame period a task needs when nothing stalls it, drain included."""
        is_memory = task.name in (*self.inputs, *self.outputs)
        drain = 0 if is_memory else task.pipeline_depth + self.restart
        return (task.frames[-1].busy + drain) / self.cycles_per_frame

    @property
    def bottleneck(self) -> TaskActivity:
        """The task with the highest load; a memory side has its port's name."""
        return max(self.tasks, key=self.load)

    def to_dict(self) -> dict[str, Any]:
        """The report's `simulation` section but for the clock: measured on the C++."""
        finished = len(self.frame_ends)
        return {
            "frames": self.frames,
            "finished_frames": finished,
            "cycles_per_frame": self.cycles_per_frame if finished > 1 else None,
            "is_steady": self.is_steady,
            "latency_cycles": self.latency if finished else None,
            "first_output_latency_cycles": self.first_output_latency if finished else None,
            "bottleneck": self.bottleneck.node if finished > 1 else None,
            "bottleneck_load": round(self.load(self.bottleneck), 4) if finished > 1 else None,
            "deadlock": str(self.deadlock) if self.deadlock else None,
            "interrupted": self.interrupted,
            "streams": [_stream_dict(stream) for stream in self.streams],
            "tasks": [_task_dict(task) for task in self.tasks],
        }

    def demand_progress(self) -> SimulationResult:
        """The result itself.

        Raises:
            UserError: the run ended in a deadlock; the message is the report of it.
        """
        if self.deadlock:
            raise UserError(str(self.deadlock))
        return self


def _stream_dict(stream: StreamActivity) -> dict[str, Any]:
    return {
        "name": stream.name,
        "kind": stream.kind,
        "depth": stream.depth,
        "max_occupancy": stream.max_occupancy,
        "width_bits": stream.width_bits,
        "empty_stall_cycles": stream.empty_stalls,
        "full_stall_cycles": stream.full_stalls,
    }


def _task_dict(task: TaskActivity) -> dict[str, Any]:
    last = task.frames[-1]
    return {
        "name": task.name,
        "node": task.node,
        "kind": task.kind,
        "busy_cycles": last.busy,
        "stalled_on_input_cycles": last.stalled_on_input,
        "stalled_on_output_cycles": last.stalled_on_output,
        "frames": [[frame.begin, frame.end] for frame in task.frames],
    }


def read_measurements(path: Path, project: Project, frames: int, restart: int) -> SimulationResult:
    """The result file of a simulation executable (hls/simulation/measurements.hpp)."""
    content = json.loads(path.read_text(encoding="utf-8"))
    known = {task.name: (task.node, task.kind) for task in project.tasks}
    waits, circle = (
        tuple(_wait(item, known) for item in content[key]) for key in ("blocked", "circle")
    )
    streams = tuple(_stream(item, project) for item in content["streams"])
    deadlock = Deadlock(waits, circle, {}, {}) if waits else None
    return SimulationResult(
        frames=frames,
        inputs=tuple(port.name for port in project.inputs),
        outputs=tuple(port.name for port in project.outputs),
        restart=restart,
        tasks=tuple(_task(item, known) for item in content["tasks"]),
        streams=streams,
        deadlock=deadlock,
        interrupted=not content["finished"] and not waits,
    )


def _wait(item: dict[str, Any], known: dict[str, tuple[str, str]]) -> Wait:
    node, _ = known.get(item["task"], (item["task"], "memory"))
    return Wait(item["task"], node, item["stream"], item["state"], item["frame"], item["cycle"])


def _task(item: dict[str, Any], known: dict[str, tuple[str, str]]) -> TaskActivity:
    node, kind = known.get(item["name"], (item["name"], "memory"))
    frames = tuple(FrameActivity(**frame) for frame in item["frames"])
    return TaskActivity(item["name"], node, kind, item["pipeline_depth"], frames)


def _stream(item: dict[str, Any], project: Project) -> StreamActivity:
    declared = project.stream_of_fifo.get(item["name"])
    counts = {
        key: item[key]
        for key in ("depth", "tokens", "max_occupancy", "needed_depth", "empty_stalls")
    }
    return StreamActivity(
        name=item["name"],
        width_bits=declared.width_bits if declared else 128,
        kind=declared.kind if declared else "port",
        full_stalls=item["full_stalls"],
        writer=item["writer"],
        reader=item["reader"],
        writes=tuple(item.get("writes", ())),
        reads=tuple(item.get("reads", ())),
        **counts,
    )
