"""The parallelism search: least cycles within the budget, then least resources at that rate.

Stage 1 finds the smallest cycle limit at which the choice problem (``choice_problem``) has a
solution, by bisection over the cycle counts engines can have: first on the linear relaxation,
which gives a proven lower bound, then on the MILP itself. Stage 2 is the MILP's objective at that
limit. HiGHS works with a node limit instead of a time limit, so that results do not depend on
the machine.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from itertools import product
from math import ceil, floor
from typing import Any

from scipy.optimize import OptimizeResult

from finn_resnet.boards import RESOURCE_NAMES, Board, Resources
from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.parallelism.candidates import useful_factors
from finn_resnet.parallelism.choice_problem import ChoiceProblem
from finn_resnet.parallelism.costed_network import CostedNetwork
from finn_resnet.parallelism.engine_model import ConvEngine, EngineFactors

MODES = ("paper", "full")
DEFAULT_CAPS = {"dsp": 1.0, "lut": 0.7, "ff": 0.9, "bram36": 0.9, "uram": 0.9}
_FEASIBILITY_GAP = 0.2
_FINAL_GAP = 0.01
_NODE_LIMIT = 2000


@dataclass(frozen=True)
class ParallelismSolution:
    """A choice of factors per engine and what the model says of it.

    ``cycles_lower_bound``: no choice within the budget is faster (proved by the relaxation or
    by the MILP). ``resource_gap``: HiGHS's relative optimality gap of stage 2.
    """

    factors: dict[str, EngineFactors]
    cycles: int
    bottleneck: str
    resources: Resources
    cycles_lower_bound: int
    resource_gap: float
    seconds: float


def capacity_of(board: Board, caps: dict[str, float] | None) -> Resources:
    """Resources the accelerator may use: the board's times the utilisation caps (0 to 1).

    Raises UserError for an unknown resource or a cap outside (0, 1].
    """
    chosen = dict(DEFAULT_CAPS)
    for name, cap in (caps or {}).items():
        if name not in RESOURCE_NAMES:
            raise UserError(f"cap for {name!r}: {did_you_mean(name, RESOURCE_NAMES)}")
        if isinstance(cap, bool) or not isinstance(cap, (int, float)) or not 0 < cap <= 1:
            raise UserError(f"cap {name} = {cap!r} must lie above 0 and at most 1 (100 %)")
        chosen[name] = float(cap)
    budget = board.budget.as_dict()
    return Resources(**{name: budget[name] * chosen[name] for name in RESOURCE_NAMES})


class ParallelismSearch:
    """Finds factors for a hardware graph on a board."""

    def __init__(
        self, model: Any, board: Board, mode: str = "full", caps: dict[str, float] | None = None
    ) -> None:
        if mode not in MODES:
            raise UserError(f"parallelism mode {mode!r}: {did_you_mean(mode, MODES)}")
        self._board = board
        self._mode = mode
        self._network = CostedNetwork(model)
        self._capacity = capacity_of(board, caps)
        self._mem_styles = ("lut", "bram", "uram") if board.budget.uram else ("lut", "bram")
        self._problems: dict[int, ChoiceProblem] = {}

    def fastest(self) -> ParallelismSolution:
        """Least cycles per frame within the budget, then least resources.

        Raises UserError naming the binding resource and layer if nothing fits.
        """
        started = time.perf_counter()
        limits = self._limits()
        if self._solution(limits[-1], _FEASIBILITY_GAP) is None:
            raise UserError(self._why_not(limits[-1]))
        bound = self._first_feasible(limits, 0, len(limits) - 1, relaxed=True)
        best, proven = self._search_from(limits, bound)
        return self._finish(limits[best], proven, started)

    def at_rate(self, limit: int) -> ParallelismSolution | None:
        """Least resources with at most ``limit`` cycles per frame; None if that does not fit."""
        started = time.perf_counter()
        if self._solution(limit, _FEASIBILITY_GAP) is None:
            return None
        return self._finish(limit, limit, started)

    def for_target(self, target_fps: float, clock_mhz: float) -> ParallelismSolution:
        """Least resources that reach ``target_fps`` frames per second at ``clock_mhz`` MHz.

        Raises UserError with the best reachable rate and the binding resource and layer.
        """
        if not target_fps > 0:
            raise UserError(f"target_fps = {target_fps!r} must be positive")
        limit = floor(clock_mhz * 1e6 / target_fps)
        found = self.at_rate(limit)
        if found is None:
            best = self.fastest()
            raise UserError(
                f"target_fps = {target_fps:g} needs {limit} cycles per frame at {clock_mhz:g} MHz: "
                f"{self._why_not(limit)}; best reachable is {clock_mhz * 1e6 / best.cycles:.0f} "
                f"frames per second ({best.cycles} cycles, by the model)"
            )
        return found

    def _limits(self) -> list[int]:
        """Cycle counts worth trying, ascending: those a convolution can have."""
        values: set[int] = set()
        for engine in self._network.engines:
            if isinstance(engine, ConvEngine):
                values |= _conv_cycle_counts(engine)
        slowest = max(
            engine.cycles(EngineFactors(mem_styles=())) for engine in self._network.engines
        )
        return sorted(values | {slowest})

    def _problem(self, limit: int) -> ChoiceProblem:
        if limit not in self._problems:
            self._problems[limit] = ChoiceProblem(
                self._network, limit, self._mode, self._mem_styles, self._capacity
            )
        return self._problems[limit]

    def _solution(self, limit: int, gap: float, *, relaxed: bool = False) -> OptimizeResult | None:
        problem = self._problem(limit)
        if problem.blocked:
            return None
        result = problem.solve(relaxed=relaxed, gap=gap, node_limit=_NODE_LIMIT)
        return result if result.x is not None else None

    def _first_feasible(self, limits: list[int], low: int, high: int, *, relaxed: bool) -> int:
        """Index of the smallest limit with a solution; that of ``high`` is known to have one."""
        while low < high:
            middle = (low + high) // 2
            if self._solution(limits[middle], _FEASIBILITY_GAP, relaxed=relaxed) is None:
                low = middle + 1
            else:
                high = middle
        return high

    def _search_from(self, limits: list[int], bound: int) -> tuple[int, int]:
        """Smallest limit the MILP reaches from the relaxation's upwards, and the lower bound."""
        low, step, high = bound, 1, bound
        while high < len(limits) - 1 and self._solution(limits[high], _FEASIBILITY_GAP) is None:
            low, high, step = high + 1, min(high + step, len(limits) - 1), 2 * step
        best = self._first_feasible(limits, low, high, relaxed=False)
        return best, limits[bound]

    def _finish(self, limit: int, proven: int, started: float) -> ParallelismSolution:
        problem = self._problem(limit)
        result = self._solution(limit, _FINAL_GAP)
        chosen = problem.chosen(result.x)
        cycles = self._network.cycles(chosen)
        bottleneck = max(cycles, key=cycles.get)
        return ParallelismSolution(
            factors={e.name: f for e, f in zip(self._network.engines, chosen, strict=True)},
            cycles=cycles[bottleneck],
            bottleneck=bottleneck,
            resources=self._network.resources(chosen),
            cycles_lower_bound=min(proven, cycles[bottleneck]),
            resource_gap=float(result.mip_gap or 0.0),
            seconds=time.perf_counter() - started,
        )

    def _why_not(self, limit: int) -> str:
        """Binding resource and its largest user at ``limit``, or the layer that is too slow."""
        problem = self._problem(limit)
        if problem.blocked:
            return f"no legal factors make {problem.blocked[0]} that fast"
        result, used = problem.solve_overshoot(gap=_FINAL_GAP, node_limit=_NODE_LIMIT)
        if result.x is None:
            return "no legal width adapters connect the layers at that rate"
        share = used / [max(value, 1.0) for value in astuple(self._capacity)]
        worst = int(share.argmax())
        chosen = problem.chosen(result.x)
        name = RESOURCE_NAMES[worst]
        largest = max(
            range(len(chosen)), key=lambda e: astuple(self._network.own_cost(e, chosen[e]))[worst]
        )
        return (
            f"{self._board.name} has room for {floor(astuple(self._capacity)[worst])} {name} "
            f"within its cap, the smallest choice needs {ceil(used[worst])}, most of them for "
            f"{self._network.engines[largest].name}"
        )


def _conv_cycle_counts(engine: ConvEngine) -> set[int]:
    shape = engine.shape
    groups = [
        {ceil(extent / factor) for factor in useful_factors(extent)}
        for extent in (shape.ow, shape.och, shape.ich)
    ]
    return {shape.oh * a * b * c for a, b, c in product(*groups)}
