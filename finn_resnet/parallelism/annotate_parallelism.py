"""AnnotateParallelism: unroll factors, multiplier and memory styles by the MILP search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.boards import Board
from finn_resnet.errors import UserError
from finn_resnet.parallelism.cheapest_changes import cheapest_changes
from finn_resnet.parallelism.engine_factors import write_factors
from finn_resnet.parallelism.milp import ParallelismSearch, ParallelismSolution
from finn_resnet.parallelism.search_cache import cached_search
from finn_resnet.transformation.insert_width_adapters import RemoveWidthAdapters


class AnnotateParallelism(Transformation):
    """Choose ``och_par``, ``ich_par``, ``ow_par``, ``mac_style`` and ``mem_style`` of every node.

    Args:
        board: part and budget.
        mode: ``paper`` (och_par divides och, ow_par 2, no ich_par) or ``full`` (any factor).
        clock_mhz: accelerator clock, the board's if None; only ``target_fps`` depends on it.
        target_fps: if given, the least resources that reach it; else the fastest design.
        caps: share of each resource the accelerator may use, over the defaults (DSP 1, LUT 0.7,
            FF, BRAM36 and URAM 0.9).
        allow_uram: let weights go to URAM, which must be filled at start-up.
        fuse_streams: let window rows travel apart and weights lie in the computation task
            (``full`` mode).
        suggest: also look for what would allow a faster design (``solution.changes``); without
            effect where ``target_fps`` is given.

    Width adapters of an earlier run are removed; run InsertWidthAdapters afterwards.
    ``solution`` holds the outcome after ``apply``.

    Raises:
        UserError: nothing fits the board, ``target_fps`` cannot be reached, or a bad argument.
    """

    def __init__(
        self,
        board: Board,
        mode: str = "full",
        clock_mhz: float | None = None,
        target_fps: float | None = None,
        caps: Mapping[str, float] | None = None,
        *,
        allow_uram: bool = False,
        fuse_streams: bool = True,
        suggest: bool = False,
    ) -> None:
        super().__init__()
        self._board = board
        self._mode = mode
        self._clock_mhz = board.clock_mhz if clock_mhz is None else clock_mhz
        self._target_fps = target_fps
        self._caps = dict(caps or {})
        self._suggest = suggest and target_fps is None
        self._search = {"allow_uram": allow_uram, "fuse_streams": fuse_streams}
        self.solution: ParallelismSolution | None = None
        if not (math.isfinite(self._clock_mhz) and self._clock_mhz > 0):
            raise UserError(f"clock_mhz = {clock_mhz!r} must be a positive number of MHz")

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        model, _ = RemoveWidthAdapters().apply(model)
        search = ParallelismSearch(model, self._board, self._mode, self._caps, **self._search)
        self.solution = cached_search(model, self._options(), lambda: self._solve(model, search))
        write_factors(model, self.solution.factors)
        return model, False

    def _solve(self, model: ModelWrapper, search: ParallelismSearch) -> ParallelismSolution:
        if self._target_fps is not None:
            return search.for_target(self._target_fps, self._clock_mhz)
        found = search.fastest()
        if not self._suggest:
            return found
        changes = cheapest_changes(model, self._board, search, found, self._caps)
        return replace(found, changes=tuple(changes))

    def _options(self) -> dict[str, Any]:
        """All but the graph and the cost model that decides the outcome."""
        target = None if self._target_fps is None else [self._target_fps, self._clock_mhz]
        budget = self._board.budget.as_dict()
        return {
            "budget": budget,
            "mode": self._mode,
            "caps": self._caps,
            "target": target,
            "suggest": self._suggest,
            **self._search,
        }
