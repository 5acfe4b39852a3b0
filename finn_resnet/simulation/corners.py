"""The corners of a band of pipeline depths that decide whether any design in it stands still.

A design stands still when waits close a circle: each task waits for the next one's progress, for a
token (against the stream's direction) or for a slot (along it). Such a circle need pass no task
twice: a task's own events are ordered, so one of the two parts between its visits is a circle too.
Walked from cause to effect it passes a task forward (its input decides its output: worse the
deeper the pipeline, which holds the tokens back), backward (its output's slot decides when it
reads: worse the shallower, which holds fewer tokens) or turns at it (two streams of the same side,
whose tokens the pipeline delays alike: its depth does not matter). So the worst point of the band
for a circle has deep pipelines in the tasks it passes forward and shallow ones in those it passes
backward, and simulating such a point for every circle of the task graph, in both directions,
settles the whole band. Circles that do not contradict each other share a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_MOST_STEPS = 2_000_000
"""Steps of the walk over all circles: seconds. A ResNet takes some thousands."""


@dataclass(frozen=True)
class Corners:
    """Points of a band, each as the set of tasks with the deepest pipelines (others: shallowest).

    ``circles`` of the task graph were looked at; all there are if ``complete``.
    """

    deep: tuple[frozenset[str], ...]
    circles: int
    complete: bool


def adversarial_corners(ends: Iterable[tuple[str, str]]) -> Corners:
    """The points that settle a band for streams with these ends (writer, reader)."""
    edges = {(writer, reader) for writer, reader in ends if writer != reader}
    tasks = sorted({task for edge in edges for task in edge})
    bit = {task: 1 << index for index, task in enumerate(tasks)}
    near: dict[str, set[str]] = {task: set() for task in tasks}
    for writer, reader in edges:
        near[writer].add(reader)
        near[reader].add(writer)
    demands: set[tuple[int, int]] = set()
    circles, complete = 0, True
    for group in _two_connected(near):
        for circle in _circles(near, group):
            if circle is None:
                complete = False
                break
            circles += 1
            forward, backward = _passed(circle, edges, bit)
            demands |= {(forward, backward), (backward, forward)}
    every = (1 << len(tasks)) - 1
    deep = [every & ~shallow for _, shallow in _merged(demands)]
    sets = (frozenset(task for task in tasks if mask & bit[task]) for mask in deep)
    return Corners(tuple(dict.fromkeys(sets)), circles, complete)


def _passed(
    circle: list[str], edges: set[tuple[str, str]], bit: Mapping[str, int]
) -> tuple[int, int]:
    """Tasks that a walk along the circle passes forward and backward, as bits."""
    forward = backward = 0
    for index, task in enumerate(circle):
        entered = (circle[index - 1], task) in edges
        left = (task, circle[(index + 1) % len(circle)]) in edges
        if entered and left:
            forward |= bit[task]
        elif not entered and not left:
            backward |= bit[task]
    return forward, backward


def _merged(demands: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Few pairs (deep, shallow) so that each demand is met by one; the first has all deep."""
    merged: list[tuple[int, int]] = [(0, 0)]
    for deep, shallow in sorted(demands, key=lambda pair: (pair[1].bit_count(), pair)):
        for index, (other_deep, other_shallow) in enumerate(merged):
            if not deep & other_shallow and not shallow & other_deep and (index or not shallow):
                merged[index] = (deep | other_deep, shallow | other_shallow)
                break
        else:
            merged.append((deep, shallow))
    return merged


def _circles(near: Mapping[str, set[str]], group: set[str]) -> Iterator[list[str] | None]:
    """Every simple circle of three or more tasks in ``group`` once; None if there are too many."""
    steps = 0
    order = {task: index for index, task in enumerate(sorted(group))}
    for start, first in order.items():
        path, inside = [start], {start}
        open_ = [iter(sorted(near[start] & group))]
        while open_:
            steps += 1
            if steps > _MOST_STEPS:
                yield None
            following = next(open_[-1], None)
            if following is None:
                open_.pop()
                inside.discard(path.pop())
            elif following == start and len(path) > 2 and order[path[1]] < order[path[-1]]:
                yield list(path)
            elif order[following] > first and following not in inside:
                path.append(following)
                inside.add(following)
                open_.append(iter(sorted(near[following] & group)))


def _two_connected(near: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups of tasks that lie on circles together (biconnected components, Tarjan 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    groups: list[set[str]] = []
    for root in near:
        if root in number:
            continue
        number[root] = lowest[root] = len(number)
        edges: list[tuple[str, str]] = []
        stack = [(root, "", iter(sorted(near[root])))]
        while stack:
            task, parent, others = stack[-1]
            other = next(others, None)
            if other is None:
                stack.pop()
                if stack:
                    lowest[parent] = min(lowest[parent], lowest[task])
                    if lowest[task] >= number[parent]:
                        groups.append(_popped(edges, (parent, task)))
            elif other not in number:
                number[other] = lowest[other] = len(number)
                edges.append((task, other))
                stack.append((other, task, iter(sorted(near[other]))))
            elif other != parent and number[other] < number[task]:
                edges.append((task, other))
                lowest[task] = min(lowest[task], number[other])
    return [group for group in groups if len(group) > 2]


def _popped(edges: list[tuple[str, str]], last: tuple[str, str]) -> set[str]:
    """Tasks of the edges on the stack down to ``last``, which are taken off."""
    group: set[str] = set()
    while True:
        edge = edges.pop()
        group.update(edge)
        if edge == last:
            return group
