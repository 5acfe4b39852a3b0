"""One MILP: pick a candidate per engine at a cycle limit, at least cost within a budget.

Binary variable x[e, k] says that engine e takes its candidate k. For every edge, y[a, b] >= 0 is
the joint choice of a source layout a and a sink layout b, with marginals equal to the sums of
the x that have those layouts (a transport polytope, so y is integral when x is). Pairs whose
width adapter would be too slow have no y, hence cannot be chosen.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import astuple, dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array, vstack

from finn_resnet.boards import RESOURCE_NAMES, Resources
from finn_resnet.parallelism.candidates import candidates
from finn_resnet.parallelism.costed_network import CostedNetwork
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.transformation.stream_profile import StreamProfile

# A resource the board has none of still needs a finite weight; its capacity row forbids it.
_LEAST_CAPACITY = 1.0
_FF_WEIGHT = 0.1


@dataclass(frozen=True)
class Candidate:
    """Factors of one engine with everything they cost by themselves."""

    factors: EngineFactors
    cost: Resources


class ChoiceProblem:
    """Candidates, constraint matrices and the solver call for one cycle limit."""

    def __init__(
        self,
        network: CostedNetwork,
        limit: int,
        mode: str,
        mem_styles: tuple[str, ...],
        capacity: Resources,
    ) -> None:
        self.limit = limit
        self._network = network
        self._capacity = np.maximum(np.array(astuple(capacity)), 0.0)
        self.choices = [
            _useful(network, index, limit, mode, mem_styles)
            for index in range(len(network.engines))
        ]
        self.blocked = [
            engine.name
            for engine, choice in zip(network.engines, self.choices, strict=True)
            if not choice
        ]
        if not self.blocked:
            self._build()

    def _build(self) -> None:
        sizes = [len(choice) for choice in self.choices]
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        self._rows: list[dict[int, float]] = []
        self._values: list[float] = []
        costs = [astuple(c.cost) for choice in self.choices for c in choice]
        for index in range(len(self.choices)):
            span = range(self._first[index], self._first[index + 1])
            self._equal(dict.fromkeys(span, 1.0), 1.0)
        for edge_index in range(len(self._network.edges)):
            self._add_edge(edge_index, costs)
        self._usage = np.array(costs).T
        width = self._usage.shape[1]
        self._equality = _sparse(self._rows, width)
        weights = np.ones(len(RESOURCE_NAMES))
        weights[RESOURCE_NAMES.index("ff")] = _FF_WEIGHT
        self._relative = weights / np.maximum(self._capacity, _LEAST_CAPACITY)

    def _equal(self, row: dict[int, float], value: float) -> None:
        self._rows.append(row)
        self._values.append(value)

    def _columns_by_profile(self, engine: int, side: object) -> dict[StreamProfile, list[int]]:
        columns = defaultdict(list)
        for offset, candidate in enumerate(self.choices[engine]):
            profile = side.profile(candidate.factors.sides)
            columns[profile].append(int(self._first[engine]) + offset)
        return columns

    def _add_edge(self, edge_index: int, costs: list[tuple[float, ...]]) -> None:
        edge = self._network.edges[edge_index]
        if edge.source == edge.sink:
            return
        sources = self._columns_by_profile(edge.source.engine, edge.source)
        sinks = self._columns_by_profile(edge.sink.engine, edge.sink)
        given: dict[StreamProfile, dict[int, float]] = {a: {} for a in sources}
        taken: dict[StreamProfile, dict[int, float]] = {b: {} for b in sinks}
        for source in sources:
            for sink in sinks:
                cycles, cost = self._network.conversion(edge_index, source, sink)
                if cycles > self.limit:
                    continue
                given[source][len(costs)] = -1.0
                taken[sink][len(costs)] = -1.0
                costs.append(astuple(cost))
        for profile, row in given.items():
            self._equal({**row, **dict.fromkeys(sources[profile], 1.0)}, 0.0)
        for profile, row in taken.items():
            self._equal({**row, **dict.fromkeys(sinks[profile], 1.0)}, 0.0)

    def solve(self, *, relaxed: bool, gap: float, node_limit: int) -> OptimizeResult:
        """Least relative resource use within the capacity; ``relaxed`` drops integrality."""
        return milp(
            self._relative @ self._usage,
            integrality=self._integrality(0 if relaxed else 1),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(self._equality, self._values, self._values),
                LinearConstraint(csr_array(self._usage), -np.inf, self._capacity),
            ],
            options={"mip_rel_gap": gap, "node_limit": node_limit},
        )

    def solve_overshoot(self, *, gap: float, node_limit: int) -> tuple[OptimizeResult, np.ndarray]:
        """Least z with usage <= z * capacity, and the usage: tells which resource binds."""
        width = self._usage.shape[1]
        capacity = np.maximum(self._capacity, _LEAST_CAPACITY)
        usage = np.hstack([self._usage / capacity[:, None], -np.ones((len(capacity), 1))])
        equality = vstack([self._equality.T, csr_array((1, len(self._values)))]).T
        bounds = Bounds(np.zeros(width + 1), np.append(np.ones(width), np.inf))
        result = milp(
            np.append(np.zeros(width), 1.0),
            integrality=np.append(self._integrality(1), 0),
            bounds=bounds,
            constraints=[
                LinearConstraint(csr_array(equality), self._values, self._values),
                LinearConstraint(csr_array(usage), -np.inf, 0.0),
            ],
            options={"mip_rel_gap": gap, "node_limit": node_limit},
        )
        used = self._usage @ result.x[:-1] if result.x is not None else np.zeros(len(capacity))
        return result, used

    def _integrality(self, binary: int) -> np.ndarray:
        integrality = np.zeros(self._usage.shape[1])
        integrality[: self._first[-1]] = binary
        return integrality

    def chosen(self, x: np.ndarray) -> list[EngineFactors]:
        """The factors a solution picks, one per engine."""
        return [
            choice[int(np.argmax(x[self._first[e] : self._first[e + 1]]))].factors
            for e, choice in enumerate(self.choices)
        ]


def _sparse(rows: list[dict[int, float]], width: int) -> csr_array:
    data = [value for row in rows for value in row.values()]
    columns = [column for row in rows for column in row]
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return csr_array((data, columns, pointers), shape=(len(rows), width))


def _useful(
    network: CostedNetwork, index: int, limit: int, mode: str, mem_styles: tuple[str, ...]
) -> list[Candidate]:
    """Candidates of an engine that no other with the same layouts beats in every resource."""
    by_sides = defaultdict(list)
    for factors in candidates(network.engines[index], limit, mode, mem_styles):
        if network.follower_cycles(index, factors) > limit:
            continue
        candidate = Candidate(factors, network.own_cost(index, factors))
        by_sides[tuple(sorted(factors.sides.items()))].append(candidate)
    return [candidate for group in by_sides.values() for candidate in _pareto(group)]


def _pareto(group: list[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in sorted(group, key=lambda c: astuple(c.cost)):
        if not any(other.cost.fits(candidate.cost) for other in kept):
            kept.append(candidate)
    return kept
