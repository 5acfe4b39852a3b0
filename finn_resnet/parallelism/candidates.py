"""The factors worth considering for an engine at a given cycle limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, singledispatch
from itertools import product
from math import ceil

from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.parallelism.conv_cost import ConvFactors, conv_dsp
from finn_resnet.parallelism.engine_model import (
    ConvEngine,
    EngineFactors,
    EngineModel,
    GroupedConvEngine,
    InputEngine,
    PoolEngine,
)
from finn_resnet.parallelism.window_cost import WindowShape, row_window

MODES = ("paper", "full")

# Wider column unrolling needs more window taps than it saves weight bandwidth.
_MAX_OW_PAR = 16
_MAX_DMA_LANES = 8
# Candidates whose multipliers exceed the fewest at the same limit by more are left out.
_MULTIPLIER_SLACK = 1.25
# Words from which a merged downsample's weights are kept in block RAM.
_DEEP_ROM = 256


@dataclass(frozen=True)
class SearchSpace:
    """What the search may choose: see `search_space`."""

    mode: str
    mem_styles: tuple[str, ...]
    fuse_streams: bool = False


def search_space(mode: str, uram: bool, fuse_streams: bool = True) -> SearchSpace:
    """The space of a mode.

    "paper": och_par divides och, ow_par is 2 (1 for one column), ich_par is 1, and weights come
    from block RAM, whose ports bound the parallelism as DSPs do. "full": any factor, weights also
    from LUTs. ``uram``: weights may come from URAM too. Window buffers are built of slices; in
    "full" mode, with ``fuse_streams``, of rows where the geometry lets them, and weights lie in the
    computation task unless they must be loaded: both cost less.

    Raises UserError for an unknown mode.
    """
    if mode not in MODES:
        raise UserError(f"parallelism mode {mode!r}: {did_you_mean(mode, MODES)}")
    memories = ("bram",) if mode == "paper" else ("lut", "bram")
    memories = (*memories, "uram") if uram else memories
    return SearchSpace(mode, memories, fuse_streams and mode == "full")


@cache
def useful_factors(extent: int) -> tuple[int, ...]:
    """Smallest factor for every possible group count: ceil(extent/p) differs for each."""
    return tuple(sorted({ceil(extent / groups) for groups in range(1, extent + 1)}))


@cache
def divisors(extent: int) -> tuple[int, ...]:
    """Divisors of ``extent`` in ascending order."""
    return tuple(p for p in range(1, extent + 1) if extent % p == 0)


@singledispatch
def candidates(engine: EngineModel, limit: int, space: SearchSpace) -> list[EngineFactors]:
    """Factors that keep ``engine`` within ``limit`` cycles, none larger than needed.

    An engine of a user's own registers its function with ``candidates.register``.
    """
    raise TypeError(f"no candidates are registered for {type(engine).__name__}")


def with_buffer_style(
    window: WindowShape, factors: EngineFactors, space: SearchSpace
) -> EngineFactors:
    """``factors`` with the window buffer the space prefers where the geometry lets it."""
    row = row_window(window, factors.ow_par, factors.in_lanes)
    rows = space.fuse_streams and row.problem(window.fh) is None
    return replace(factors, buffer_style="rows" if rows else "slices")


@candidates.register
def _input_candidates(engine: InputEngine, limit: int, space: SearchSpace) -> list[EngineFactors]:
    lanes = range(1, min(_MAX_DMA_LANES, engine.picture.w) + 1)
    factors = product(lanes, useful_factors(engine.picture.ch))
    found = [EngineFactors(ch_par, ch_par, ow_par, ow_par) for ow_par, ch_par in factors]
    return [f for f in found if engine.cycles(f) <= limit]


@candidates.register
def _pool_candidates(engine: PoolEngine, limit: int, space: SearchSpace) -> list[EngineFactors]:
    found = []
    window, mode = engine.window, space.mode
    legal = divisors if mode == "paper" else useful_factors
    for ow_par, ch_par in product(_column_factors(window.ow, mode), legal(window.ich)):
        for in_lanes in _input_lanes(window.iw, ow_par, window.stride_w, mode):
            factors = with_buffer_style(
                window, EngineFactors(ch_par, ch_par, ow_par, in_lanes), space
            )
            if engine.cycles(factors) <= limit:
                found += [factors, replace(factors, link_style="lut")]
    return found


def _column_factors(ow: int, mode: str) -> tuple[int, ...]:
    if mode == "paper":
        return (min(2, ow),)
    return tuple(p for p in useful_factors(ow) if p <= _MAX_OW_PAR)


def _input_lanes(iw: int, ow_par: int, stride_w: int, mode: str) -> tuple[int, ...]:
    if mode == "paper":
        return (ow_par,)
    return tuple(lanes for lanes in divisors(ow_par * stride_w) if lanes <= iw)


@candidates.register
def _conv_candidates(engine: ConvEngine, limit: int, space: SearchSpace) -> list[EngineFactors]:
    shape = engine.shape
    mode = space.mode
    legal_och = divisors(shape.och) if mode == "paper" else useful_factors(shape.och)
    found: set[EngineFactors] = set()
    for ow_par in _column_factors(shape.ow, mode):
        for in_lanes in _input_lanes(engine.window.iw, ow_par, engine.window.stride_w, mode):
            legal_ich = (1,) if mode == "paper" else useful_factors(shape.ich)
            for ich_par in legal_ich:
                base = with_buffer_style(
                    engine.window, EngineFactors(legal_och[-1], ich_par, ow_par, in_lanes), space
                )
                if engine.cycles(base) <= limit:
                    found.add(_least_och_par(engine, base, legal_och, limit))
    return [
        variant
        for factors in _without_waste(engine, found)
        for variant in _variants(engine, factors, space)
    ]


def _variants(
    engine: ConvEngine, factors: EngineFactors, space: SearchSpace
) -> Iterator[EngineFactors]:
    """Multipliers and memories that the same unroll factors leave open."""
    for mac_style in ("dsp", "lut"):
        chained = engine.with_best_chain(replace(factors, mac_style=mac_style))
        for link_style in ("lut", "bram"):
            for styles in _memories(engine, factors, space.mem_styles):
                mode = _mem_mode(styles, space)
                yield replace(chained, mem_styles=styles, link_style=link_style, mem_mode=mode)


@candidates.register
def _grouped_candidates(
    engine: GroupedConvEngine, limit: int, space: SearchSpace
) -> list[EngineFactors]:
    """Fewest groups an iteration for every number of columns, and the memories and multipliers."""
    shape = engine.shape
    legal = (divisors if space.mode == "paper" else useful_factors)(engine.grouped.groups)
    found = []
    for ow_par in _column_factors(shape.ow, space.mode):
        for in_lanes in _input_lanes(engine.window.iw, ow_par, engine.window.stride_w, space.mode):
            options = (
                EngineFactors(groups * shape.och, groups * shape.ich, ow_par, in_lanes)
                for groups in legal
            )
            styled = (with_buffer_style(engine.window, factors, space) for factors in options)
            found += [next((f for f in styled if engine.cycles(f) <= limit), None)]
    return [
        variant
        for factors in found
        if factors is not None
        for variant in _variants(engine, factors, space)
    ]


def _mem_mode(styles: tuple[str, ...], space: SearchSpace) -> str:
    embedded = space.fuse_streams and "uram" not in styles
    return "internal_embedded" if embedded else "internal_decoupled"


def _memories(
    engine: ConvEngine, factors: EngineFactors, mem_styles: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Memory styles of the parameter tasks: any for the convolution, LUTs for a downsample.

    The merged 1x1 weights are a ninth of a 3x3 kernel's and would leave block RAM mostly empty,
    unless they are deep.
    """
    rest = tuple(
        "bram" if engine.parameter_depth(index, factors) > _DEEP_ROM else "lut"
        for index in range(1, len(engine.parameters))
    )
    for style in mem_styles:
        yield (style, *rest)


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
