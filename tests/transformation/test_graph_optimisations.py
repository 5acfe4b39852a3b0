"""The three graph optimisations: any subset, any order, unchanged codes."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finn_resnet.importing import load_model
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    LowerToHardware,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.transformation.skip_buffers import skip_buffers
from tests.qonnx_models import residual_network
from tests.random_networks import Features, feature_sets, random_network, random_pictures, seeds
from tests.transformation.test_lower_to_hardware import assert_same_outputs

OPTIMISATIONS = (MergeDownsampleLoop, ForwardWindowBuffer, AbsorbAddIntoAccumulator)
ORDERS = [order for count in range(4) for order in permutations(OPTIMISATIONS, count)]


def hardware(model):
    return model.transform(LowerToHardware()).transform(FuseRequantChains())


def problems(model) -> list[str]:
    return [text for node in model.graph.node for text in as_op(node).verify_node()]


@pytest.mark.slow
@given(seeds, feature_sets, st.sampled_from(ORDERS))
@settings(max_examples=50)
def test_any_order_of_any_subset_keeps_the_codes(seed: int, features: Features, order) -> None:
    original = random_network(seed, features)
    model = hardware(original)
    for transformation in order:
        model = model.transform(transformation())
    assert problems(model) == []
    assert_same_outputs(original, model, random_pictures(original, seed, 3))


@given(seeds, feature_sets)
@settings(max_examples=15)
def test_optimisations_do_not_need_fused_requantisers(seed: int, features: Features) -> None:
    original = random_network(seed, features)
    model = original.transform(LowerToHardware())
    for transformation in OPTIMISATIONS:
        model = model.transform(transformation())
    model = model.transform(FuseRequantChains())
    assert problems(model) == []
    assert_same_outputs(original, model, random_pictures(original, seed, 3))


def test_each_optimisation_removes_what_it_promises() -> None:
    plain = hardware(residual_network())
    merged = plain.transform(MergeDownsampleLoop())
    assert len(nodes_of(plain, "StreamConv")) - len(nodes_of(merged, "StreamConv")) == 1
    forwarded = merged.transform(ForwardWindowBuffer())
    assert nodes_of(forwarded, "StreamFork") == []
    assert nodes_of(forwarded.transform(AbsorbAddIntoAccumulator()), "StreamAdd") == []


def test_a_second_run_changes_nothing() -> None:
    model = hardware(residual_network())
    for transformation in OPTIMISATIONS:
        model = model.transform(transformation())
    again = model
    for transformation in OPTIMISATIONS:
        again = again.transform(transformation())
    assert again.model.SerializeToString() == model.model.SerializeToString()


def test_skip_buffers_of_resnet20_shrink_as_published(shared_models) -> None:
    plain = hardware(load_model(shared_models / "resnet20_a8w8b16.onnx"))
    best = plain.transform(MergeDownsampleLoop()).transform(ForwardWindowBuffer())
    before = [b.codes for b in skip_buffers(plain)]
    after = [b.codes for b in skip_buffers(best)]
    assert before[0] == 2128 and after[0] == 1056  # identity skip: 0.496
    assert after[3] == 1088  # merged downsample: 0.511 of 2128
    assert round(after[0] / before[0], 3) == 0.496
    assert round(after[3] / before[0], 3) == 0.511


def test_stream_depths_hold_the_skip_buffers() -> None:
    model = hardware(residual_network()).transform(SetStreamDepths())
    for buffer in skip_buffers(model):
        origin = next(n for n in model.graph.node if n.name == buffer.origin)
        assert as_op(origin).depths()[buffer.output] == buffer.codes
    conv = nodes_of(model, "StreamConv")[0]
    assert as_op(conv).depths() == [as_op(conv).get_nodeattr("och")]


@given(seeds)
@settings(max_examples=15)
def test_accumulator_form_is_exact_without_a_quant_before_the_addition(seed: int) -> None:
    original = random_network(seed)
    paper = AbsorbAddIntoAccumulator("accumulator")
    exact = hardware(original).transform(AbsorbAddIntoAccumulator())
    model = hardware(original).transform(paper)
    epilogues = [n.name for n in nodes_of(exact, "StreamConv") if _skip(n) == "epilogue"]
    assert set(paper.changed_nodes) <= set(epilogues)
    if not paper.changed_nodes:
        assert_same_outputs(original, model, random_pictures(original, seed, 3))


def _skip(node) -> str:
    return as_op(node).get_nodeattr("skip")


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="not a valid AbsorbForm"):
        AbsorbAddIntoAccumulator("paper")
