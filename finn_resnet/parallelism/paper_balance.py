"""Algorithm 1 of the paper: balance all convolutions against the heaviest (eq. 12-19).

The search of ``milp`` finds the same factors where DSPs alone bind; this closed form shows the
method by itself and is what the search is tested against.
"""

from __future__ import annotations

from collections.abc import Sequence

from finn_resnet.parallelism.candidates import divisors
from finn_resnet.parallelism.conv_cost import ConvFactors, ConvShape, conv_cycles, conv_dsp


def parallel_macs(shape: ConvShape, factors: ConvFactors) -> int:
    """cp: multiply-accumulates per cycle (eq. 13), a merged downsample not counted."""
    return shape.taps * factors.och_par * factors.ich_par * factors.ow_par


def throughput(shape: ConvShape, factors: ConvFactors) -> float:
    """Th = cp / c in frames per cycle (eq. 15); exact where the factors divide."""
    own_macs = shape.oh * shape.ow * shape.och * shape.ich * shape.taps
    return parallel_macs(shape, factors) / own_macs


def balance(shapes: Sequence[ConvShape], dsp_budget: int) -> list[ConvFactors] | None:
    """Factors with the greatest throughput of the heaviest layer within ``dsp_budget`` DSPs.

    Every other layer gets cp_i = cp_max * c_i / c_max, rounded up to the next och_par that
    divides och (eq. 16-19). None if even och_par = 1 everywhere takes too many DSPs.
    """
    heaviest = max(shapes, key=lambda shape: conv_cycles(shape, ConvFactors()))
    best = None
    for och_par in divisors(heaviest.och):
        limit = conv_cycles(heaviest, _paper_factors(heaviest, och_par))
        chosen = [_least_factors(shape, limit) for shape in shapes]
        dsp = sum(conv_dsp(s, f) for s, f in zip(shapes, chosen, strict=True))
        if dsp <= dsp_budget:
            best = chosen
    return best


def _paper_factors(shape: ConvShape, och_par: int) -> ConvFactors:
    return ConvFactors(och_par=och_par, ow_par=min(2, shape.ow))


def _least_factors(shape: ConvShape, limit: int) -> ConvFactors:
    """Smallest och_par that divides och and keeps ``limit`` (the largest one if none does)."""
    options = [_paper_factors(shape, och_par) for och_par in divisors(shape.och)]
    return next((f for f in options if conv_cycles(shape, f) <= limit), options[-1])
