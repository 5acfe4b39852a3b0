"""Streams that hold whatever pipeline depths the vendor's tool schedules, within a band."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from finn_resnet.generation.project_file import Project
from finn_resnet.simulation.corners import adversarial_corners
from finn_resnet.simulation.depth_search import DepthSearch, period_of

CHECKED_POINTS = 24
"""Random points simulated beside the corners."""

_SEED = 0


@dataclass(frozen=True)
class DepthBand:
    """Pipeline depths from the modelled one, p, to ``factor * p + stages``, of each task by itself.

    ``factor`` 1 and ``stages`` 0 is the model alone.
    """

    factor: float = 2.0
    stages: int = 4

    @property
    def is_point(self) -> bool:
        """Whether the model's depths are all there is."""
        return self.factor == 1 and self.stages == 0

    def deepest(self, modelled: int) -> int:
        """Largest depth of a pipeline modelled with ``modelled`` stages."""
        return math.ceil(self.factor * modelled) + self.stages

    def random_points(
        self, modelled: Mapping[str, int], count: int, seed: int = _SEED
    ) -> Iterator[dict[str, int]]:
        """Depths by task: corners of the band and points inside it, in turn."""
        rng = random.Random(seed)
        for index in range(count):
            yield {
                name: rng.choice((depth, self.deepest(depth)))
                if index % 2
                else rng.randint(depth, self.deepest(depth))
                for name, depth in modelled.items()
            }


DEFAULT_BAND = DepthBand()


@dataclass(frozen=True)
class BandReport:
    """What is known of a design over a band.

    ``corners`` are the points that decide whether any point stands still, ``circles`` the circles
    of tasks they come from; ``complete`` if these are all. ``worst_period`` (cycles) is the longest
    of the corners and of ``random_points`` others, None for a deadlock; ``worst_floor`` that of the
    corners with unlimited streams: what deeper pipelines cost whatever the streams. ``added_bits``
    is what the streams need more than for the modelled depths alone.
    """

    factor: float
    stages: int
    circles: int
    complete: bool
    corners: int
    random_points: int
    deadlocks: int
    worst_period: int | None
    worst_floor: int
    added_bits: int


class BandSearch:
    """Widens depths found for the modelled pipelines until every corner of a band keeps its rate.

    Args:
        project: streams and tasks of the searches.
        band: of the pipelines' depths.
        search_at: the search of a design with other pipeline depths, by task.
        ends: writer and reader of every stream.
    """

    def __init__(
        self,
        project: Project,
        band: DepthBand,
        search_at: Callable[[dict[str, int]], DepthSearch],
        ends: Mapping[str, tuple[str, str]],
    ) -> None:
        self.project = project
        self.band = band
        self.modelled = {task.name: task.pipeline_depth for task in project.tasks}
        self.corners = adversarial_corners(ends.values())
        points = [
            {
                name: band.deepest(depth) if name in deep else depth
                for name, depth in self.modelled.items()
            }
            for deep in self.corners.deep
        ]
        self.searches = [search_at(point) for point in points]

    def widened(self, depths: dict[str, int]) -> dict[str, int]:
        """Depths with which every corner has the rate of unlimited streams."""
        for search in self.searches:
            depths = search.widened(depths)
        return depths

    def report(self, before: dict[str, int], depths: dict[str, int]) -> BandReport:
        """Simulate the corners and random points with ``depths``, widened from ``before``."""
        periods = [period_of(search.simulate(depths)) for search in self.searches]
        first = self.searches[0]
        for point in self.band.random_points(self.modelled, CHECKED_POINTS):
            periods.append(period_of(first.simulate(depths, pipeline_depths=point)))
        stuck = periods.count(None)
        added = sum(
            len(stream.fifo_names) * stream.width_bits * (depths[stream.name] - before[stream.name])
            for stream in self.project.streams
        )
        return BandReport(
            factor=self.band.factor,
            stages=self.band.stages,
            circles=self.corners.circles,
            complete=self.corners.complete,
            corners=len(self.searches),
            random_points=CHECKED_POINTS,
            deadlocks=stuck,
            worst_period=None if stuck else max(period for period in periods if period),
            worst_floor=max(search.full_rate for search in self.searches),
            added_bits=added,
        )

    @property
    def trials(self) -> int:
        """Simulations so far."""
        return sum(search.trials for search in self.searches)


def at_depths(base: DepthSearch, pipeline_depths: dict[str, int]) -> DepthSearch:
    """The same search for other pipeline depths."""
    settings = replace(base.base, pipeline_depths=base.base.pipeline_depths | pipeline_depths)
    return DepthSearch(base.project, settings, base.run)
