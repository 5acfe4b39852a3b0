"""The factors worth considering for an engine at a given cycle limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from math import ceil

from finn_resnet.parallelism.conv_cost import ConvFactors, conv_dsp
from finn_resnet.parallelism.engine_model import (
    ConvEngine,
    EngineFactors,
    EngineModel,
    InputEngine,
    PoolEngine,
)

# Wider column unrolling needs more window taps than it saves weight bandwidth.
_MAX_OW_PAR = 16
_MAX_DMA_LANES = 8
# Candidates whose multipliers exceed the fewest at the same limit by more are left out.
_MULTIPLIER_SLACK = 1.3


@cache
def useful_factors(extent: int) -> tuple[int, ...]:
    """Smallest factor for every possible group count: ceil(extent/p) differs for each."""
    return tuple(sorted({ceil(extent / groups) for groups in range(1, extent + 1)}))


@cache
def divisors(extent: int) -> tuple[int, ...]:
    """Divisors of ``extent`` in ascending order."""
    return tuple(p for p in range(1, extent + 1) if extent % p == 0)


def candidates(
    engine: EngineModel, limit: int, mode: str, mem_styles: tuple[str, ...]
) -> list[EngineFactors]:
    """Factors that keep ``engine`` within ``limit`` cycles, none larger than needed.

    ``mode`` "paper": och_par divides och, ow_par is 2 (1 for one column), ich_par is 1.
    ``mode`` "full": any factor. ``mem_styles`` are those the board allows.
    """
    if isinstance(engine, InputEngine):
        found = list(_input_candidates(engine, limit))
    elif isinstance(engine, PoolEngine):
        found = list(_pool_candidates(engine, limit, mode))
    else:
        found = _conv_candidates(engine, limit, mode, mem_styles)
    return found


def _input_candidates(engine: InputEngine, limit: int) -> Iterator[EngineFactors]:
    lanes = range(1, min(_MAX_DMA_LANES, engine.picture.w) + 1)
    for ow_par, ch_par in product(lanes, useful_factors(engine.picture.ch)):
        factors = EngineFactors(ch_par, ch_par, ow_par, ow_par)
        if engine.cycles(factors) <= limit:
            yield factors


def _pool_candidates(engine: PoolEngine, limit: int, mode: str) -> Iterator[EngineFactors]:
    window = engine.window
    legal = divisors if mode == "paper" else useful_factors
    for ow_par, ch_par in product(_column_factors(window.ow, mode), legal(window.ich)):
        for in_lanes in _input_lanes(window.iw, ow_par, window.stride_w, mode):
            factors = EngineFactors(ch_par, ch_par, ow_par, in_lanes)
            if engine.cycles(factors) <= limit:
                yield factors


def _column_factors(ow: int, mode: str) -> tuple[int, ...]:
    if mode == "paper":
        return (min(2, ow),)
    return tuple(p for p in useful_factors(ow) if p <= _MAX_OW_PAR)


def _input_lanes(iw: int, ow_par: int, stride_w: int, mode: str) -> tuple[int, ...]:
    if mode == "paper":
        return (ow_par,)
    return tuple(lanes for lanes in divisors(ow_par * stride_w) if lanes <= iw)


def _conv_candidates(
    engine: ConvEngine, limit: int, mode: str, mem_styles: tuple[str, ...]
) -> list[EngineFactors]:
    shape = engine.shape
    legal_och = divisors(shape.och) if mode == "paper" else useful_factors(shape.och)
    found: set[EngineFactors] = set()
    for ow_par in _column_factors(shape.ow, mode):
        for in_lanes in _input_lanes(engine.window.iw, ow_par, engine.window.stride_w, mode):
            legal_ich = (1,) if mode == "paper" else useful_factors(shape.ich)
            for ich_par in legal_ich:
                base = EngineFactors(legal_och[-1], ich_par, ow_par, in_lanes)
                if engine.cycles(base) <= limit:
                    found.add(_least_och_par(engine, base, legal_och, limit))
    return [
        replace(factors, mac_style=mac_style, mem_styles=styles)
        for factors in _without_waste(engine, found)
        for mac_style in ("dsp", "lut")
        for styles in product(mem_styles, repeat=len(engine.parameters))
    ]


def _least_och_par(
    engine: ConvEngine, base: EngineFactors, legal_och: tuple[int, ...], limit: int
) -> EngineFactors:
    """``base`` with the smallest och_par that keeps the limit (the largest one does)."""
    low, high = 0, len(legal_och) - 1
    while low < high:
        middle = (low + high) // 2
        if engine.cycles(replace(base, och_par=legal_och[middle])) <= limit:
            high = middle
        else:
            low = middle + 1
    return replace(base, och_par=legal_och[low])


def _without_waste(engine: ConvEngine, found: set[EngineFactors]) -> list[EngineFactors]:
    def multipliers(factors: EngineFactors) -> int:
        plain = ConvFactors(factors.och_par, factors.ich_par, factors.ow_par)
        return conv_dsp(engine.shape, plain)

    if not found:
        return []
    fewest = min(multipliers(factors) for factors in found)
    kept = [f for f in found if multipliers(f) <= _MULTIPLIER_SLACK * fewest]
    return sorted(kept, key=lambda f: (multipliers(f), f.och_par, f.ich_par, f.ow_par, f.in_lanes))
