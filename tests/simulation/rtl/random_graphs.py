"""Random dataflow graphs for the comparison of the cycle-level runtime with RTL."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class TaskShape:
    """A pipelined loop: iterations per frame, interval, latency of writes, restart cycles."""

    iterations: int
    interval: int
    latency: int
    restart: int


@dataclass(frozen=True)
class StreamShape:
    """A FIFO of ``depth``; token i is written in iteration write_phase + i * write_period."""

    writer: int
    reader: int
    depth: int
    tokens: int
    write_phase: int
    write_period: int
    read_phase: int
    read_period: int


@dataclass(frozen=True)
class Graph:
    """Tasks and streams, simulated for ``frames`` frames."""

    frames: int
    tasks: tuple[TaskShape, ...]
    streams: tuple[StreamShape, ...]

    def text(self) -> str:
        """The graph in the format that both simulators read."""
        lines = [f"{len(self.tasks)} {len(self.streams)} {self.frames}"]
        lines += [" ".join(map(str, vars(task).values())) for task in self.tasks]
        lines += [" ".join(map(str, vars(stream).values())) for stream in self.streams]
        return "\n".join(lines) + "\n"


def random_graph(rng: random.Random) -> Graph:
    """Up to 8 tasks in a random acyclic graph: chains, forks, joins, unequal latencies.

    Loops start with a delay (a window buffer filling) or read ahead of what they write, so that
    about a third of the graphs deadlock.
    """
    count = rng.randint(2, 8)
    tasks = tuple(
        TaskShape(
            iterations=rng.randint(6, 40),
            interval=rng.choice((1, 1, 1, 2, 3)),
            latency=rng.choice((0, 1, 2, rng.randint(0, 8))),
            restart=rng.randint(0, 2),
        )
        for _ in range(count)
    )
    pairs = {(rng.randrange(t), t) for t in range(1, count)}
    while len(pairs) < min(count + rng.randint(0, 4), count * (count - 1) // 2):
        pairs.add(tuple(sorted(rng.sample(range(count), 2))))
    deep = rng.random() < 0.7
    streams = tuple(_random_stream(rng, tasks, pair, deep) for pair in sorted(pairs))
    return Graph(rng.randint(1, 4), tasks, streams)


def _random_stream(
    rng: random.Random, tasks: tuple[TaskShape, ...], pair: tuple[int, int], deep: bool
) -> StreamShape:
    writer, reader = pair
    tokens = rng.randint(1, min(tasks[writer].iterations, tasks[reader].iterations))
    write_phase, write_period = _pattern(rng, tasks[writer].iterations, tokens)
    read_phase, read_period = _pattern(rng, tasks[reader].iterations, tokens)
    depth = rng.randint(1, 24) if deep else rng.randint(1, 4)
    return StreamShape(
        writer, reader, depth, tokens, write_phase, write_period, read_phase, read_period
    )


def _pattern(rng: random.Random, iterations: int, tokens: int) -> tuple[int, int]:
    """A phase and a period that fit ``tokens`` accesses into the loop."""
    period = rng.randint(1, (iterations - 1) // (tokens - 1)) if tokens > 1 else 1
    return rng.randint(0, iterations - 1 - period * (tokens - 1)), period
