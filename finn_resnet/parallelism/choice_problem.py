"""One MILP: pick a candidate per engine at a cycle limit, at least cost within a budget.

Binary variable x[e, k] says that engine e takes its candidate k. For every edge, y[a, b] >= 0 is
the joint choice of a source layout a and a sink layout b, with marginals equal to the sums of
the x that have those layouts (a transport polytope, so y is integral when x is). Pairs whose
width adapter would be too slow have no y, hence cannot be chosen.

The objective is the relative resource use, plus the largest share of the fabric (LUT, FF, BRAM,
URAM) weighed double: a design that fills one of them to the brim is hard to place. Whether anything
fits at all is asked with the LUTs alone as objective (`any_fit`): all else can be traded for them,
and with that objective the solver mostly finds a solution in its first node.

The linear relaxation is tight (a few per cent), so the MILP is solved over the candidates whose
reduced cost in the relaxation is small; the relaxation over all candidates remains the bound
(in deep networks: over the cheapest few dozen of every engine).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import csr_array

from finn_resnet.boards import RESOURCE_NAMES, Resources
from finn_resnet.parallelism.candidates import SearchSpace, candidates
from finn_resnet.parallelism.costed_network import CostedNetwork
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.network import Side
from finn_resnet.transformation.stream_profile import StreamProfile

# A resource the board has none of still needs a finite weight; its capacity row forbids it.
_LEAST_CAPACITY = 1.0
_WEIGHTS = {"dsp": 1.0, "lut": 1.0, "ff": 0.1, "bram36": 1.0, "uram": 1.0}
_FABRIC = np.array([name != "dsp" for name in RESOURCE_NAMES])
_FULLEST_WEIGHT = 2.0
# Candidates of all engines together, and the fewest an engine has, so that the problems of deep
# networks stay small.
_MOST_CANDIDATES = 4000
_LEAST_PER_ENGINE = 40
# Fewest candidates an engine keeps in the MILP, whatever their reduced cost.
_LEAST_KEPT = 6
# LUTs that candidates mixed by the linear relaxation may take, as a share of the cap. With more,
# whole candidates hardly ever fit, and the solver takes longest to find that out.
_FULLEST_RELAXATION = 0.96
# Share of its flip-flops that a candidate may save over another and still be left out.
_FF_SLACK = 0.2
# Candidates whose reduced cost exceeds this share of the relaxation's optimum are left out, and the
# relative gap at which the solver stops: asking whether anything fits, and for the final answer.
_FIT_REACH, _FIT_GAP = 0.03, 1.0
_REACH, _FINAL_GAP = 0.01, 0.002
# HiGHS counts nodes, not seconds, so that results do not depend on the machine's load.
_NODE_LIMIT = 50


@dataclass(frozen=True)
class Candidate:
    """Factors of one engine with everything they cost by themselves."""

    factors: EngineFactors
    cost: Resources


@dataclass(frozen=True)
class Choice:
    """A solution: the objective's value and the factors of each engine."""

    objective: float
    factors: list[EngineFactors]


class ChoiceProblem:
    """Candidates, constraint matrices and the solver calls for one cycle limit."""

    def __init__(
        self, network: CostedNetwork, limit: int, space: SearchSpace, capacity: Resources
    ) -> None:
        self.limit = limit
        self._network = network
        self._capacity = np.array(capacity.as_tuple())
        self._divisor = np.maximum(self._capacity, _LEAST_CAPACITY)
        most = max(_MOST_CANDIDATES // len(network.engines), _LEAST_PER_ENGINE)
        self.choices = [
            self._cheapest(_useful(network, index, limit, space), most)
            for index in range(len(network.engines))
        ]
        self.blocked = [
            engine.name
            for engine, choice in zip(network.engines, self.choices, strict=True)
            if not choice
        ]
        self._relaxation: OptimizeResult | None = None
        self._fit: list[EngineFactors] | None = None
        self._fit_tried = False
        if not self.blocked:
            self._build()

    def _cheapest(self, choice: list[Candidate], most: int) -> list[Candidate]:
        """The ``most`` candidates of least relative use, half of them with LUT multipliers."""

        def use(candidate: Candidate) -> float:
            return float((np.array(candidate.cost.as_tuple()) / self._divisor).sum())

        styles = defaultdict(list)
        for candidate in sorted(choice, key=use):
            styles[candidate.factors.mac_style].append(candidate)
        return [c for group in styles.values() for c in group[: ceil(most / len(styles))]]

    def _build(self) -> None:
        sizes = [len(choice) for choice in self.choices]
        self._first = [0, *np.cumsum(sizes).tolist()]
        costs = [c.cost.as_tuple() for choice in self.choices for c in choice]
        rows = [dict.fromkeys(self._span(index), 1.0) for index in range(len(self.choices))]
        for edge_index in range(len(self._network.edges)):
            rows += self._edge_rows(edge_index, costs)
        self._values = np.zeros(len(rows))
        self._values[: len(self.choices)] = 1.0
        # The last column is the largest share of the fabric.
        shares = np.array([*costs, (0.0,) * len(RESOURCE_NAMES)]).T / self._divisor[:, None]
        fullest = np.zeros((_FABRIC.sum(), shares.shape[1]))
        fullest[:, -1] = 1.0
        self._shares = shares
        self._upper_rows = csr_array(np.vstack([shares, shares[_FABRIC] - fullest]))
        self._upper = np.append(self._capacity / self._divisor, np.zeros(_FABRIC.sum()))
        self._objective = np.array([_WEIGHTS[name] for name in RESOURCE_NAMES]) @ shares
        self._objective[-1] = _FULLEST_WEIGHT
        self._equality = _sparse(rows, len(costs) + 1)

    def _span(self, engine: int) -> range:
        return range(self._first[engine], self._first[engine + 1])

    def _columns_by_profile(self, side: Side) -> dict[StreamProfile, list[int]]:
        columns = defaultdict(list)
        choice = self.choices[side.engine]
        for column, candidate in zip(self._span(side.engine), choice, strict=True):
            columns[side.profile(candidate.factors.sides)].append(column)
        return columns

    def _edge_rows(self, edge_index: int, costs: list[tuple[float, ...]]) -> list[dict[int, float]]:
        """Rows (equal to 0) that tie an edge's y to the x; appends the y's ``costs``."""
        edge = self._network.edges[edge_index]
        if edge.source == edge.sink:
            return []
        sources = self._columns_by_profile(edge.source)
        sinks = self._columns_by_profile(edge.sink)
        given: dict[StreamProfile, dict[int, float]] = {a: {} for a in sources}
        taken: dict[StreamProfile, dict[int, float]] = {b: {} for b in sinks}
        for source in sources:
            for sink in sinks:
                cycles, cost = self._network.conversion(edge_index, source, sink)
                if cycles > self.limit:
                    continue
                given[source][len(costs)] = -1.0
                taken[sink][len(costs)] = -1.0
                costs.append(cost.as_tuple())
        return [
            {**row, **dict.fromkeys(profiles[profile], 1.0)}
            for profiles, rows in ((sources, given), (sinks, taken))
            for profile, row in rows.items()
        ]

    def relaxation(self) -> OptimizeResult | None:
        """Linear relaxation: least relative resource use, None if nothing fits the capacity."""
        if self.blocked:
            return None
        if self._relaxation is None:
            self._relaxation = self._relaxed(self._objective)
        return self._relaxation if self._relaxation.status == 0 else None

    def _relaxed(self, objective: np.ndarray) -> OptimizeResult:
        return linprog(
            objective,
            A_ub=self._upper_rows,
            b_ub=self._upper,
            A_eq=self._equality,
            b_eq=self._values,
            bounds=(0, 1),
            method="highs",
        )

    def any_fit(self) -> list[EngineFactors] | None:
        """Factors of each engine within the capacity, with few LUTs; None if none are found."""
        if self.blocked:
            return None
        if not self._fit_tried:
            self._fit_tried = True
            self._fit = self._least("lut", _FIT_REACH, _FIT_GAP)
        return self._fit

    def least(self, resource: str) -> list[EngineFactors] | None:
        """Factors of each engine with little of one resource; None if none are found."""
        return None if self.blocked else self._least(resource, _REACH, _FINAL_GAP)

    def _least(self, resource: str, reach: float, gap: float) -> list[EngineFactors] | None:
        objective = self._shares[RESOURCE_NAMES.index(resource)]
        relaxation = self._relaxed(objective)
        if relaxation.status != 0 or relaxation.fun > _FULLEST_RELAXATION:
            return None
        found = self._integral(objective, relaxation, reach, gap)
        return found.factors if found else None

    def least_use(self) -> Choice | None:
        """Least relative resource use within the capacity, None if none was found."""
        relaxation = self.relaxation()
        if relaxation is None:
            return None
        found = [self._integral(self._objective, relaxation, _REACH, _FINAL_GAP)]
        for factors in (self.least("lut"), self.any_fit()):
            if factors is not None:
                found.append(Choice(self._use(factors), factors))
        return min(filter(None, found), key=lambda choice: choice.objective, default=None)

    def _use(self, factors: list[EngineFactors]) -> float:
        """The objective of given factors."""
        shares = np.array(self._network.resources(factors).as_tuple()) / self._divisor
        weights = np.array([_WEIGHTS[name] for name in RESOURCE_NAMES])
        return float(weights @ shares + _FULLEST_WEIGHT * shares[_FABRIC].max())

    def _integral(
        self, objective: np.ndarray, relaxation: OptimizeResult, reach: float, gap: float
    ) -> Choice | None:
        """The MILP over the candidates whose reduced cost is within ``reach`` of the optimum."""
        kept = self._kept(relaxation, reach)
        result = milp(
            objective[kept],
            integrality=kept < self._first[-1],
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(self._equality[:, kept], self._values, self._values),
                LinearConstraint(self._upper_rows[:, kept], -np.inf, self._upper),
            ],
            options={"mip_rel_gap": gap, "node_limit": _NODE_LIMIT},
        )
        if result.x is None:
            return None
        return Choice(float(result.fun), self._chosen(kept, result.x))

    def _kept(self, relaxation: OptimizeResult, reach: float) -> np.ndarray:
        """Columns of small reduced cost, and the best few candidates of every engine."""
        reduced = relaxation.lower.marginals
        keep = reduced <= reach * relaxation.fun
        keep[-1] = True
        for engine in range(len(self.choices)):
            span = slice(self._first[engine], self._first[engine + 1])
            best = np.argsort(reduced[span], kind="stable")[:_LEAST_KEPT]
            keep[best + self._first[engine]] = True
        return np.flatnonzero(keep)

    def _chosen(self, columns: np.ndarray, x: np.ndarray) -> list[EngineFactors]:
        """Each engine's candidate with the largest value in a solution over ``columns``."""
        values = np.zeros(len(self._objective))
        values[columns] = x
        return [
            choice[int(np.argmax(values[self._first[e] : self._first[e + 1]]))].factors
            for e, choice in enumerate(self.choices)
        ]

    def tightest(self) -> tuple[np.ndarray, list[EngineFactors]] | None:
        """Share of each resource, and factors, where the largest share is least.

        The linear optimum, rounded to each engine's likeliest candidate: it tells which resource
        binds when nothing fits. None if no adapters connect the layers at this rate.
        """
        width = len(self._objective)
        shares = self._shares.copy()
        shares[:, -1] = -1.0
        result = linprog(
            np.append(np.zeros(width - 1), 1.0),
            A_ub=csr_array(shares),
            b_ub=np.zeros(len(shares)),
            A_eq=self._equality,
            b_eq=self._values,
            bounds=[(0, 1)] * (width - 1) + [(0, None)],
            method="highs",
        )
        if result.status != 0:
            return None
        return self._shares @ result.x, self._chosen(np.arange(width), result.x)


def _sparse(rows: list[dict[int, float]], width: int) -> csr_array:
    data = [value for row in rows for value in row.values()]
    columns = [column for row in rows for column in row]
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return csr_array((data, columns, pointers), shape=(len(rows), width))


def _useful(network: CostedNetwork, index: int, limit: int, space: SearchSpace) -> list[Candidate]:
    """Candidates of an engine that no other with the same layouts beats in every resource."""
    by_sides = defaultdict(list)
    for factors in candidates(network.engines[index], limit, space):
        if network.follower_cycles(index, factors) > limit:
            continue
        sides = (factors.in_lanes, factors.ich_par, factors.ow_par, factors.och_par)
        by_sides[sides].append(Candidate(factors, network.own_cost(index, factors)))
    return [candidate for group in by_sides.values() for candidate in _pareto(group)]


def _pareto(group: list[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in sorted(group, key=lambda c: c.cost.as_tuple()):
        # Flip-flops never bind: a few of them are no reason to keep a candidate.
        bound = candidate.cost + Resources(ff=_FF_SLACK * candidate.cost.ff)
        if not any(other.cost.fits(bound) for other in kept):
            kept.append(candidate)
    return kept
