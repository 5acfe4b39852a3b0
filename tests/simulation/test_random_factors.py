"""Random pairs of a layer and its unroll factors: the rate of the C++ is that of the cost model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import load_board
from finn_resnet.parallelism import estimate
from tests.pair_rates import FRAMES, PairRate, PairRates, measured_rates
from tests.random_pairs import random_pairs
from tests.stream_graphs import StreamGraph

PAIRS = 12
SEED = 0


@pytest.fixture(scope="module")
def measured(
    cxx, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StreamGraph, PairRates, list[PairRate]]:
    """Proven bit-exact on the way, untimed and timed."""
    graph, pairs = random_pairs(SEED, PAIRS)
    return graph, *measured_rates(graph, pairs, tmp_path_factory.mktemp("pairs"))


def test_every_pair_runs_at_the_modelled_rate(measured):
    _, _, rates = measured
    assert [rate.pair.text for rate in rates if not rate.at_rate] == []


def test_sized_streams_keep_the_rate_of_unlimited_ones(measured):
    _, _, rates = measured
    assert [(rate.pair.text, rate.sized) for rate in rates if rate.sized > rate.unlimited] == []


def test_the_draw_has_many_kinds_factors_and_bottlenecks(measured):
    graph, _, rates = measured
    assert len({rate.pair.kind for rate in rates}) >= 4
    assert len({rate.bottleneck for rate in rates}) >= 3
    every = [graph.attributes(name) for name in graph.node_names()]
    nodes = [attributes for attributes in every if "weight_bits" in attributes]
    assert any(node["och"] % node["och_par"] for node in nodes)
    assert any(node["ich"] % node.get("ich_par", 1) for node in nodes)
    assert any(node["ow"] % node["ow_par"] for node in nodes)


def test_a_slower_design_is_not_at_the_rate(measured):
    """Negative control: every task idles a little longer between two frames."""
    graph, rates, found = measured
    slack = max(rate.limit - rate.model for rate in found)
    result = rates.timed(graph.frames(FRAMES), restart=slack + 1)
    slower = [replace(rate, sized=rates.period(rate.pair, result)) for rate in found]
    assert not any(rate.at_rate for rate in slower)


def test_the_cycles_of_other_factors_are_not_met(measured):
    """Negative control: the rate tells a convolution from one of fewer output channels a cycle."""
    graph, _, found = measured
    model = graph.model()
    for node in model.get_nodes_by_op_type("StreamConv"):
        getCustomOp(node).set_nodeattr("och_par", 1)
    cycles = {layer.name: layer.cycles for layer in estimate(model, load_board("KV260")).layers}
    others = [
        replace(rate, model=max(cycles[node] for node in rate.pair.nodes))
        for rate in found
        if any(graph.attributes(node).get("och_par", 1) > 1 for node in rate.pair.nodes)
    ]
    changed = [rate for rate in others if rate.model > rate.limit]
    assert len(changed) >= 2
    assert not any(rate.at_rate for rate in changed)
