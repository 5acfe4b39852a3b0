"""When the modules of an RTL network move tokens: what its control does, without the data.

`network_schedule` writes what ``rtl/simulation/schedule.cpp`` runs clock by clock. A module makes a
step in the clock in which all tokens of the step are there and all its outputs have room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LaneEnd = tuple[str, int]
"""A port of a module and a lane of it."""


@dataclass(frozen=True)
class Step:
    """The lanes a step reads and writes."""

    reads: tuple[LaneEnd, ...] = ()
    writes: tuple[LaneEnd, ...] = ()


@dataclass(frozen=True)
class Steps:
    """Steps of a frame: ``rows`` equal rows of blocks ``(repeat, [(step, count), ...])``."""

    rows: int
    row: Sequence[tuple[int, Sequence[tuple[Step, int]]]]

    def text(self, name: str, numbers: Mapping[LaneEnd, int], spread: int = 0) -> str:
        """A line of the network file."""
        kinds = list(dict.fromkeys(step for _, block in self.row for step, _ in block))
        words: list[object] = ["steps", name, spread, len(kinds)]
        for step in kinds:
            for ends in (step.reads, step.writes):
                words += [len(ends), *(numbers[end] for end in ends)]
        words += [self.rows, len(self.row)]
        for repeat, block in self.row:
            words += [repeat, len(block)]
            words += [word for step, count in block for word in (kinds.index(step), count)]
        return " ".join(map(str, words))


@dataclass(frozen=True)
class WindowSteps:
    """A `window_buffer`'s sizes, with the parameters' names in lower case."""

    ich: int
    ih: int
    iw: int
    oh: int
    ow: int
    fh: int
    fw: int
    stride_h: int
    stride_w: int
    pad_top: int
    pad_left: int
    ich_par: int
    ow_par: int
    in_lanes: int
    forward: int

    @property
    def _columns(self) -> int:
        return self.fw + (self.ow_par - 1) * self.stride_w

    def _newest(self, lane: int) -> int:
        """Age of the newest column that a window reads of a lane, -1 for none."""
        lookahead = (self._columns - 1 - self.pad_left) // self.in_lanes
        ages = [
            lookahead - (j - self.pad_left - (j - self.pad_left) % self.in_lanes) // self.in_lanes
            for j in range(self._columns)
            if (j % self.stride_w < self.fw or j >= (self.ow_par - 1) * self.stride_w)
            and (j - self.pad_left) % self.in_lanes == lane
        ]
        return min(ages, default=-1)

    def text(self, name: str, numbers: Mapping[LaneEnd, int]) -> str:
        """A line of the network file."""
        groups = -(-self.ich // self.ich_par)
        row = -(-self.iw // self.in_lanes) * groups
        step = self.ow_par * self.stride_w // self.in_lanes
        lookahead = (self._columns - 1 - self.pad_left) // self.in_lanes
        lag = (self.fh - 1 - self.pad_top) * row + lookahead * groups
        out_groups = -(-self.ow // self.ow_par)
        last_row = (self.oh - 1) * self.stride_h * (row // groups)
        last = (last_row + (out_groups - 1) * step + 1) * groups - 1
        flush = bool(self.forward) or last + lag >= self.ih * row
        age = max(0, *(self._newest(lane) for lane in range(self.in_lanes)))
        forwards = range(self.in_lanes if self.forward else 0)
        words = ["window", name, self.in_lanes]
        words += [numbers["in", lane] for lane in range(self.in_lanes)]
        words += [len(forwards), *(numbers["forward", lane] for lane in forwards)]
        words += [1, numbers["window", 0], row, self.ih, groups, self.iw % self.in_lanes, lag]
        words += [int(flush), 0 if flush else (self.ih * row - lag) % (self.ih * row)]
        words += [self.stride_h, step, self.oh, out_groups, (self.fh - 1) * row + age * groups]
        return " ".join(map(str, words))


def lanes_of(port: str, count: int) -> tuple[LaneEnd, ...]:
    """The first ``count`` lanes of a port."""
    return tuple((port, lane) for lane in range(count))


def picture_steps(
    rows: int, width: int, lanes: int, groups: int, reads: Sequence[str], writes: Sequence[str]
) -> Steps:
    """Steps of a task that keeps the picture's shape: all lanes of all its ports together."""

    def block(count: int) -> list[tuple[Step, int]]:
        ends = [sum((lanes_of(port, count) for port in ports), ()) for ports in (reads, writes)]
        return [(Step(*ends), groups)]

    row = [(width // lanes, block(lanes))]
    if width % lanes:
        row.append((1, block(width % lanes)))
    return Steps(rows, row)


@dataclass(frozen=True)
class ScheduledStream:
    """A lane of a stream: FIFOs behind each other, ``own`` of them in the writer's module.

    An element is a kind (f FIFO, b block RAM FIFO, r output register) and its tokens. With
    ``places`` a step reserves one and its token comes ``late`` clocks later. ``uncounted`` tokens
    of its room are not part of ``depth``.
    """

    name: str
    depth: int
    elements: tuple[tuple[str, int], ...]
    own: int = 0
    places: int = 0
    late: int = 0
    uncounted: int = 0

    @property
    def text(self) -> str:
        """A line of the network file."""
        words = [self.name, self.depth, self.places, self.late, self.own, self.uncounted]
        words += [len(self.elements), *(word for element in self.elements for word in element)]
        return "stream " + " ".join(map(str, words))
