"""Cycles and DSPs of a computation task follow the loop nest and the packing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.numerics.dsp_packing import FOURS, UNPACKED
from finn_resnet.parallelism.conv_cost import (
    ConvFactors,
    ConvShape,
    conv_cost,
    conv_cycles,
    conv_dsp,
    operand_delay_cost,
    parameter_cost,
)

SHIFT = '[{"kind":"shift","shift":8,"rounding":"ROUND","lo":0,"hi":255}]'
SHAPE = ConvShape(och=16, ich=16, oh=32, ow=32, fh=3, fw=3, requants=(SHIFT,))

factors = st.builds(
    ConvFactors, och_par=st.integers(1, 16), ich_par=st.integers(1, 16), ow_par=st.integers(1, 8)
)


@given(factors)
def test_cycles_count_the_iterations(chosen):
    iterations = sum(
        1
        for _ in range(0, SHAPE.ow, chosen.ow_par)
        for _ in range(0, SHAPE.ich, chosen.ich_par)
        for _ in range(0, SHAPE.och, chosen.och_par)
    )
    assert conv_cycles(SHAPE, chosen) == SHAPE.oh * iterations


@given(factors)
def test_multipliers_cover_the_products(chosen):
    products = chosen.och_par * chosen.ich_par * chosen.ow_par * 9
    assert products / 2 <= conv_dsp(SHAPE, chosen) < products / 2 + 9 * chosen.ich_par
    assert conv_dsp(replace(SHAPE, packing=UNPACKED), chosen) == products
    fours = conv_dsp(replace(SHAPE, packing=FOURS), chosen)
    assert products / 4 <= fours <= conv_dsp(SHAPE, chosen)
    assert conv_dsp(SHAPE, replace(chosen, mac_style="lut")) == 0
    # No multiplier array can do more work than its products times its cycles.
    assert products * conv_cycles(SHAPE, chosen) >= SHAPE.macs


def test_paper_layers_of_resnet8_on_kv260():
    heavy = ConvFactors(och_par=16, ow_par=2)
    assert conv_cycles(SHAPE, heavy) == 8192
    assert conv_dsp(SHAPE, heavy) == 144
    strided = ConvShape(och=32, ich=16, oh=16, ow=16, fh=3, fw=3, merged_downsample=True)
    assert conv_cycles(strided, ConvFactors(och_par=8, ow_par=2)) == 8192
    assert conv_dsp(strided, ConvFactors(och_par=8, ow_par=2)) == 80


def test_four_products_share_a_dsp():
    chosen = ConvFactors(och_par=8, ow_par=2)
    fours = replace(SHAPE, packing=FOURS, in_bits=4, weight_bits=4)
    assert conv_dsp(fours, chosen) == conv_dsp(SHAPE, chosen) / 2 == 36
    # A downsample of 8-bit weights beside them still goes in pairs.
    merged = replace(fours, merged_downsample=True)
    assert conv_dsp(merged, chosen) == 36 + 8
    assert conv_dsp(replace(merged, ds_packing=FOURS), chosen) == 36 + 4
    assert conv_dsp(fours, ConvFactors(och_par=3)) == conv_dsp(fours, ConvFactors(ow_par=3)) == 9


def test_joining_operands_of_fours_costs():
    def lut(och_par: int, ow_par: int, signed: bool) -> float:
        shape = replace(SHAPE, packing=FOURS, signed_codes=signed)
        return conv_cost(shape, ConvFactors(och_par, 1, ow_par)).lut

    # Two columns share the 18-bit port for all channels: a borrow per tap if they are signed.
    join = (lut(2, 2, True) - lut(2, 2, False)) / 9
    assert join > 0
    assert lut(4, 4, True) - lut(4, 4, False) == 2 * 9 * join
    # Three channels' weights are always joined outside the pre-adder.
    assert lut(3, 1, True) == lut(3, 1, False) > lut(2, 1, False) + 9 * join
    # Two channels' are where several column groups share them: once, with the second group.
    second, third = lut(2, 4, False) - lut(2, 2, False), lut(2, 6, False) - lut(2, 4, False)
    assert second - third == pytest.approx(9 * join)
    pairs = conv_cost(replace(SHAPE, signed_codes=True), ConvFactors(2, 1, 2))
    assert pairs == conv_cost(SHAPE, ConvFactors(2, 1, 2))


def test_every_part_of_the_epilogue_costs():
    chosen = ConvFactors(och_par=4, ow_par=2)
    plain = conv_cost(SHAPE, chosen).lut
    assert conv_cost(replace(SHAPE, skip=True), chosen).lut > plain
    assert conv_cost(replace(SHAPE, requants=(SHIFT, SHIFT)), chosen).lut > plain
    assert conv_cost(replace(SHAPE, merged_downsample=True), chosen).lut > plain
    assert conv_cost(replace(SHAPE, acc_bits=30), chosen).lut > plain
    fours = replace(SHAPE, packing=FOURS)
    assert conv_cost(fours, replace(chosen, chain_ends=(5, 9))).lut > conv_cost(fours, chosen).lut
    assert conv_cost(SHAPE, replace(chosen, mac_style="lut")).lut > plain + 8 * 9 * 50
    # All input channels at once leave no partial sums to keep.
    short = {"chain_ends": tuple(range(5, 136, 5))}
    all_inputs, most = ConvFactors(4, 16, 2, **short), ConvFactors(4, 15, 2, **short)
    assert conv_cost(SHAPE, all_inputs).lut < conv_cost(SHAPE, most).lut


def test_affine_requantisers_take_a_multiplier_each():
    affine = '[{"kind":"affine","mult":[3,5],"add":[1,-1],"shift":9,"lo":0,"hi":255}]'
    chosen = ConvFactors(och_par=4, ow_par=2)
    shape = replace(SHAPE, requants=(affine,))
    assert conv_cost(shape, chosen).dsp == conv_cost(SHAPE, chosen).dsp + 8
    wide = replace(shape, acc_bits=28)
    assert conv_cost(wide, chosen).dsp == conv_cost(SHAPE, chosen).dsp + 16
    thresholds = '[{"kind":"threshold","base":0,"sign":[1],"thresholds":[[1,2,3]]}]'
    assert conv_cost(replace(SHAPE, requants=(thresholds,)), chosen).dsp == 36
    with pytest.raises(ValueError, match="magic"):
        conv_cost(replace(SHAPE, requants=('[{"kind":"magic"}]',)), chosen)


def test_parameter_memory_is_as_wide_as_the_weights_of_a_cycle():
    cost = parameter_cost(64, 64, 9, 8, 16, 1, "bram")
    assert cost.bram36 == 16
    assert parameter_cost(64, 64, 9, 8, 4, 1, "bram").bram36 == 8
    assert parameter_cost(64, 64, 9, 8, 16, 1, "uram").uram == 16
    assert parameter_cost(16, 16, 9, 8, 16, 1, "lut").lut >= 1152


def test_narrow_operands_shrink_the_multiplier_of_a_lut_product_not_its_adder():
    chosen = ConvFactors(2, 1, 2, "lut")
    products = 2 * 2 * SHAPE.taps

    def per_product(bits: int) -> float:
        shape = replace(SHAPE, in_bits=bits, weight_bits=bits)
        # The sum of one product more, all else equal.
        more = replace(shape, fw=shape.fw + 1)
        return (conv_cost(more, chosen).lut - conv_cost(shape, chosen).lut) / (4 * shape.fh)

    # Between the 60 to 75 LUTs that vendor tools reach and the 128 of unpacked cells, an adder in.
    assert 75 < per_product(8) < 128
    assert 20 < per_product(4) < per_product(8) / 2
    assert conv_cost(SHAPE, chosen).lut > products * per_product(8)


def test_long_cascades_pay_for_delays_and_short_ones_for_adders():
    """36 DSPs in one cascade: 33 taps wait long enough for shift registers, 24 operand bits each
    (855 shift registers were measured for a column with one more operand register)."""
    whole = operand_delay_cost((36,), 24)
    quarters = operand_delay_cost((9, 18, 27, 36), 24)
    assert 33 * 24 <= whole.lut <= 36 * 24 and whole.lut_low < whole.lut
    assert quarters.lut == 4 * 6 * 24
    # A single tile gains by cutting its cascade, a large array, whose tiles share the delays, not.
    cut, kept = (9, 18, 27, 36), (36,)

    def lut(lanes: int, ends: tuple[int, ...]) -> float:
        return conv_cost(SHAPE, ConvFactors(lanes, 4, 2, chain_ends=ends)).lut

    assert lut(1, cut) < lut(1, kept)
    assert lut(16, cut) > lut(16, kept)


def test_bounds_differ_only_where_the_model_is_unsure():
    cost = conv_cost(SHAPE, ConvFactors(4, 1, 2))
    assert 0 < cost.lut_low < cost.lut and 0 < cost.ff_low < cost.ff
    assert cost.low.dsp == cost.dsp == 36
    assert (cost + cost).lut_low == (2 * cost).lut_low == 2 * cost.lut_low
