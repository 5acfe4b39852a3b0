"""Cost of grouped convolutions: a group is a small convolution, and what a task has once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from finn_resnet.errors import UserError
from finn_resnet.numerics.dsp_packing import FOURS, PAIRS
from finn_resnet.parallelism import ApplyFolding, export_folding
from finn_resnet.parallelism.candidates import candidates, search_space
from finn_resnet.parallelism.conv_cost import ConvFactors, ConvShape, conv_cost, conv_dsp
from finn_resnet.parallelism.engine_factors import read_factors
from finn_resnet.parallelism.engine_model import engine_cost, engine_model
from finn_resnet.parallelism.grouped_conv_cost import (
    GroupedFactors,
    GroupedShape,
    grouped_conv_cost,
    grouped_conv_cycles,
    grouped_conv_dsp,
)
from finn_resnet.parallelism.network import read_network
from finn_resnet.transformation import LowerToHardware
from tests.lowering.test_grouped_conv import grouped_network

SHIFT = '[{"kind":"shift","shift":7,"rounding":"ROUND","lo":0,"hi":255}]'
DEPTHWISE = GroupedShape(ConvShape(1, 1, 16, 16, 3, 3, packing=PAIRS, requants=(SHIFT,)), 32)


def test_columns_share_a_dsp_and_channels_do_not():
    found = [grouped_conv_dsp(DEPTHWISE, GroupedFactors(4, columns)) for columns in (1, 2, 3, 4)]
    assert found == [4 * 9, 4 * 9, 4 * 18, 4 * 18]
    threes = replace(DEPTHWISE, group=replace(DEPTHWISE.group, packing=FOURS))
    assert grouped_conv_dsp(threes, GroupedFactors(4, 3)) == 4 * 9
    assert grouped_conv_dsp(DEPTHWISE, GroupedFactors(4, 2, "lut")) == 0
    # The two outputs of a group share one too.
    double = replace(DEPTHWISE, group=replace(DEPTHWISE.group, och=2))
    assert grouped_conv_dsp(double, GroupedFactors(4, 1)) == 4 * 9


def test_cycles_count_iterations():
    assert grouped_conv_cycles(DEPTHWISE, GroupedFactors()) == 16 * 16 * 32
    assert grouped_conv_cycles(DEPTHWISE, GroupedFactors(5, 3)) == 16 * 6 * 7


def test_one_group_costs_what_its_convolution_does_without_partial_sums():
    """A convolution whose channels are all computed at once keeps no partial sums either."""
    shape = ConvShape(3, 2, 16, 16, 3, 3, requants=(SHIFT,))
    whole = conv_cost(shape, ConvFactors(3, 2, 2))
    assert grouped_conv_cost(GroupedShape(shape, 1), GroupedFactors(1, 2)) == whole


def test_it_takes_far_less_than_the_full_convolution():
    full = ConvShape(32, 32, 16, 16, 3, 3, requants=(SHIFT,))
    cycles = grouped_conv_cycles(DEPTHWISE, GroupedFactors(1, 2))
    # As fast, 32 times the products.
    assert conv_dsp(full, ConvFactors(32, 1, 2)) == 32 * grouped_conv_dsp(
        DEPTHWISE, GroupedFactors(1, 2)
    )
    assert cycles == 16 * 8 * 32


@pytest.fixture(scope="module")
def hardware():
    return grouped_network(7, 4, 1, 2).transform(LowerToHardware())


def grouped_engine(hardware):
    engine = next(e for e in read_network(hardware).engines if e.parameters)
    return engine, engine_model(hardware, engine)


@pytest.mark.parametrize("mode", ["full", "paper"])
def test_candidates_keep_the_limit_and_are_legal(hardware, mode):
    engine, model = grouped_engine(hardware)
    slowest = model.cycles(read_factors(engine))
    for limit in (slowest, slowest // 2):
        found = candidates(model, limit, search_space(mode, uram=False))
        assert found and all(model.cycles(factors) <= limit for factors in found)
        for factors in found:
            assert factors.och_par == 2 * factors.ich_par
            assert engine_cost(model, factors).lut > 0
    assert candidates(model, 1, search_space(mode, uram=False)) == []


def test_folding_by_hand_takes_whole_groups(hardware):
    engine, _ = grouped_engine(hardware)
    folded = hardware.transform(ApplyFolding({engine.name: {"och_par": 4}}))
    assert export_folding(folded)[engine.name]["och_par"] == 4
    served, _ = grouped_engine(folded)
    factors = read_factors(served)
    assert (factors.och_par, factors.ich_par) == (4, 2)
    # A default is rounded down to whole groups, at least one.
    for default, expected in ((3, 2), (1, 2), (99, 8)):
        folded = hardware.transform(ApplyFolding({"Defaults": {"och_par": default}}))
        assert export_folding(folded)[engine.name]["och_par"] == expected
    with pytest.raises(UserError, match="och_par = 3 must be a multiple of 2 from 2 to 8"):
        hardware.transform(ApplyFolding({engine.name: {"och_par": 3}}))
