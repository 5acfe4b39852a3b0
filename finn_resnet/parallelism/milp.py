"""The parallelism search: least cycles within the budget, then least resources at that rate.

Stage 1 finds the smallest cycle limit at which the choice problem (``choice_problem``) has a
solution: by bisection on its linear relaxation, which gives a proven lower bound, then upwards
from there on the MILP itself. Stage 2 is the MILP's objective at that limit. HiGHS works with a
node limit instead of a time limit, so that results do not depend on the machine.
"""

from __future__ import annotations

import copy
import math
import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from finn_resnet.boards import RESOURCE_NAMES, Board, Resources
from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.parallelism.candidates import search_space, with_buffer_style
from finn_resnet.parallelism.choice_problem import ChoiceProblem
from finn_resnet.parallelism.conv_cost import multiplier_cost
from finn_resnet.parallelism.costed_network import CostedNetwork
from finn_resnet.parallelism.engine_model import ConvEngine, EngineFactors, PoolEngine

DEFAULT_CAPS = {"dsp": 1.0, "lut": 0.7, "ff": 0.9, "bram36": 0.9, "uram": 0.9}
# Share of what the caps allow that `full` mode keeps for the streams, which are sized later.
_SIZING_RESERVE = {"lut": 0.01, "bram36": 0.03}
# Cycle counts tried first, relative to the bound that the multipliers alone set.
_BRACKET = (1.2, 3.0)
# Code, weight and sum of a typical product, for that bound alone.
_TYPICAL_BITS = (8, 8, 20)


@dataclass(frozen=True)
class Change:
    """A change of the request, and the cycles per frame of the design it allows (cost model)."""

    what: str
    cycles: int


@dataclass(frozen=True)
class ParallelismSolution:
    """A choice of factors per engine and what the cost model says of it.

    ``cycles_lower_bound``: at any smaller cycle count even the linear relaxation does not fit.
    ``resource_gap``: how far, relatively, the resource use (stage 2's objective) may lie above
    the least one at this rate, by the same relaxation. ``binds``: what stands in the way of one
    step less of cycles; empty where a rate was asked for. ``changes``: what would allow a faster
    design (``cheapest_changes``), where that was asked for.
    """

    factors: dict[str, EngineFactors]
    cycles: int
    bottleneck: str
    resources: Resources
    cycles_lower_bound: int
    resource_gap: float
    seconds: float
    binds: str = ""
    changes: tuple[Change, ...] = ()


def capacity_of(board: Board, caps: Mapping[str, float]) -> Resources:
    """Resources the accelerator may use: the board's times the utilisation caps (0 to 1).

    ``caps`` override `DEFAULT_CAPS` one by one. Raises UserError for an unknown resource or a
    cap outside (0, 1].
    """
    chosen = dict(DEFAULT_CAPS)
    for name, cap in caps.items():
        if name not in RESOURCE_NAMES:
            raise UserError(f"cap for {name!r}: {did_you_mean(name, RESOURCE_NAMES)}")
        if isinstance(cap, bool) or not isinstance(cap, (int, float)) or not 0 < cap <= 1:
            raise UserError(f"cap {name} = {cap!r} must lie above 0 and at most 1 (100 %)")
        chosen[name] = float(cap)
    budget = board.budget.as_dict()
    return Resources(**{name: budget[name] * chosen[name] for name in RESOURCE_NAMES})


class ParallelismSearch:
    """Finds factors for a hardware graph (without width adapters) on a board.

    ``allow_uram`` lets weights go to URAM, which must be filled at start-up; ``fuse_streams`` lets
    window buffers be built of rows, and weights lie in the computation task.
    """

    def __init__(
        self,
        model: Any,
        board: Board,
        mode: str = "full",
        caps: Mapping[str, float] | None = None,
        *,
        allow_uram: bool = False,
        fuse_streams: bool = True,
    ) -> None:
        self._network = CostedNetwork(model)
        self._keeps_reserve = mode == "full"
        self._set_budget(board, caps or {})
        self._space = search_space(mode, allow_uram and self._capacity.uram >= 1, fuse_streams)

    def _set_budget(self, board: Board, caps: Mapping[str, float]) -> None:
        self._board = board
        self._capacity = capacity_of(board, caps)
        if self._keeps_reserve:
            self._capacity = _less_reserve(self._capacity)
        self._problems: dict[int, ChoiceProblem] = {}

    def with_budget(self, board: Board, caps: Mapping[str, float]) -> ParallelismSearch:
        """The same search of the same network, on another board or with other caps."""
        other = copy.copy(self)
        other._set_budget(board, caps)
        return other

    def with_graph(self, model: Any) -> ParallelismSearch:
        """The same search of another hardware graph."""
        other = copy.copy(self)
        other._network, other._problems = CostedNetwork(model), {}
        return other

    def fastest(self) -> ParallelismSolution:
        """Least cycles per frame within the budget, then least resources.

        Raises UserError naming the binding resource and layer if nothing fits.
        """
        started = time.perf_counter()
        limits = self._limits()
        relaxed = self._first_relaxed(limits)
        best = None if relaxed is None else self._search_from(limits, relaxed)
        if best is None:
            raise UserError(f"no parallelism fits: {self._why_not(limits[-1])}")
        binds = self._why_not(limits[relaxed - 1]) if relaxed else "no smaller cycle count exists"
        return self._finish(limits[best], limits[relaxed], started, binds)

    def at_rate(self, limit: int) -> ParallelismSolution | None:
        """Least resources with at most ``limit`` cycles per frame; None if that does not fit."""
        started = time.perf_counter()
        if not self._fits(limit):
            return None
        return self._finish(limit, limit, started)

    def least(self, resource: str, limit: int) -> ParallelismSolution | None:
        """Little of one resource with at most ``limit`` cycles per frame; None if none is found."""
        started = time.perf_counter()
        factors = self._problem(limit).least(resource)
        return None if factors is None else self._solution(factors, 0, 0.0, started)

    def next_limit(self, most: int) -> int | None:
        """The largest cycle count up to ``most`` that some convolution can have, None below all."""
        return max((limit for limit in self._limits() if limit <= most), default=None)

    def share_for_tasks(self, resource: str) -> float:
        """Share of what a cap allows that is for tasks and not kept for the streams' sizing."""
        return 1 - _SIZING_RESERVE.get(resource, 0.0) if self._keeps_reserve else 1.0

    def largest_users(self, limit: int) -> list[str]:
        """Engines by their use of the resource that binds at ``limit`` cycles, largest first."""
        tightest = None if self._problem(limit).blocked else self._problem(limit).tightest()
        if tightest is None:
            return []
        shares, chosen = tightest
        uses = self._uses(int(shares.argmax()), chosen)
        order = sorted(range(len(uses)), key=lambda index: -uses[index])
        return [self._network.engines[index].name for index in order]

    def _uses(self, resource: int, chosen: list[EngineFactors]) -> list[float]:
        return [
            self._network.own_cost(index, factors).as_tuple()[resource]
            for index, factors in enumerate(chosen)
        ]

    def for_target(self, target_fps: float, clock_mhz: float) -> ParallelismSolution:
        """Least resources that reach ``target_fps`` frames per second at ``clock_mhz`` MHz.

        Raises UserError with the best reachable rate and the binding resource and layer.
        """
        if not (math.isfinite(target_fps) and target_fps > 0):
            raise UserError(f"target_fps = {target_fps!r} must be a positive number")
        limit = floor(clock_mhz * 1e6 / target_fps)
        found = self.at_rate(limit)
        if found is None:
            best = self.fastest()
            if best.cycles <= limit:
                return best
            raise UserError(
                f"target_fps = {target_fps:g} needs {limit} cycles per frame at {clock_mhz:g} MHz: "
                f"{self._why_not(limit)}; best reachable is {clock_mhz * 1e6 / best.cycles:.0f} "
                f"frames per second ({best.cycles} cycles, by the cost model)"
            )
        return found

    def _limits(self) -> list[int]:
        """Cycle counts worth trying, ascending: those convolutions can have, and the slowest."""
        values = {engine.cycles(EngineFactors()) for engine in self._network.engines}
        for index, engine in enumerate(self._network.engines):
            # In a tiny picture the last step of window rows, or the output's last beat, may count.
            slowest = EngineFactors()
            if isinstance(engine, (ConvEngine, PoolEngine)):
                slowest = with_buffer_style(engine.window, slowest, self._space)
            values |= {engine.cycles(slowest), self._network.follower_cycles(index, slowest)}
            if isinstance(engine, ConvEngine):
                values |= engine.cycle_counts()
        return sorted(values)

    def _problem(self, limit: int) -> ChoiceProblem:
        if limit not in self._problems:
            self._problems[limit] = ChoiceProblem(self._network, limit, self._space, self._capacity)
        return self._problems[limit]

    def _fits(self, limit: int) -> bool:
        return self._problem(limit).any_fit() is not None

    def _relaxation_fits(self, limit: int) -> bool:
        return self._problem(limit).relaxation() is not None

    def _first_relaxed(self, limits: list[int]) -> int | None:
        """Index of the first limit whose relaxation fits, None if the last does not.

        Limits far from what the multipliers alone allow are tried only when the nearer ones
        leave no other choice: their problems are large.
        """
        rough = self._multiplier_bound()
        low, high = (
            min(bisect_left(limits, factor * rough), len(limits) - 1) for factor in _BRACKET
        )
        if not self._relaxation_fits(limits[high]):
            low, high = high + 1, len(limits) - 1
            if low > high or not self._relaxation_fits(limits[high]):
                return None
        elif self._relaxation_fits(limits[low]):
            low, high = 0, low
        return bisect_left(limits, True, low, high, key=self._relaxation_fits)

    def _multiplier_bound(self) -> float:
        """Cycles per frame if all DSPs (two products) and LUTs did nothing but multiply."""
        engines: list[ConvEngine] = [e for e in self._network.engines if isinstance(e, ConvEngine)]
        macs = sum(engine.macs for engine in engines)
        product = multiplier_cost(*_TYPICAL_BITS).lut
        products = 2 * self._capacity.dsp + self._capacity.lut / product
        return macs / max(products, 1.0)

    def _search_from(self, limits: list[int], low: int) -> int | None:
        """First limit the MILP reaches, from the relaxation's upwards in growing steps."""
        step = 1
        high = low
        while not self._fits(limits[high]):
            if high == len(limits) - 1:
                return None
            low, high, step = high + 1, min(high + step, len(limits) - 1), 2 * step
        return bisect_left(limits, True, low, high, key=self._fits)

    def _finish(
        self, limit: int, proven: int, started: float, binds: str = ""
    ) -> ParallelismSolution:
        problem = self._problem(limit)
        result = problem.least_use()
        gap = max(1.0 - problem.relaxation().fun / result.objective, 0.0)
        return self._solution(result.factors, proven, gap, started, binds)

    def _solution(
        self,
        chosen: list[EngineFactors],
        proven: int,
        gap: float,
        started: float,
        binds: str = "",
    ) -> ParallelismSolution:
        cycles = self._network.cycles(chosen)
        bottleneck = max(cycles, key=cycles.get)
        return ParallelismSolution(
            factors={e.name: f for e, f in zip(self._network.engines, chosen, strict=True)},
            cycles=cycles[bottleneck],
            bottleneck=bottleneck,
            resources=self._network.resources(chosen),
            cycles_lower_bound=min(proven, cycles[bottleneck]),
            resource_gap=gap,
            seconds=time.perf_counter() - started,
            binds=binds,
        )

    def _why_not(self, limit: int) -> str:
        """Binding resource and its largest user at ``limit``, or the layer that is too slow."""
        problem = self._problem(limit)
        if problem.blocked:
            return f"no legal factors make {problem.blocked[0]} that fast"
        tightest = problem.tightest()
        if tightest is None:
            return "no legal width adapters connect the layers at that rate"
        shares, chosen = tightest
        worst = int(shares.argmax())
        capacity = self._capacity.as_tuple()[worst]
        users = self._uses(worst, chosen)
        needed = ceil(shares[worst] * max(capacity, 1))
        # The relaxation may mix candidates of a layer; whole choices then need a little more.
        least = f"more than {needed}" if needed <= capacity else f"at least {needed}"
        return (
            f"{self._board.name} has {floor(capacity)} {RESOURCE_NAMES[worst]} to give within its "
            f"cap, which binds: {least} are needed, most of them for "
            f"{self._network.engines[users.index(max(users))].name}"
        )


def _less_reserve(capacity: Resources) -> Resources:
    kept = {
        name: amount * (1 - _SIZING_RESERVE.get(name, 0.0))
        for name, amount in capacity.as_dict().items()
    }
    return Resources(**kept)
