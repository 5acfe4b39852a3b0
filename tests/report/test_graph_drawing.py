"""The drawing of a graph: every task once, below what it reads, none on top of another."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from finn_resnet.report.graph_drawing import draw_graph
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    LowerToHardware,
    MergeDownsampleLoop,
)
from tests.qonnx_models import ModelBuilder

OPTIONAL = [FuseRequantChains, MergeDownsampleLoop, ForwardWindowBuffer, AbsorbAddIntoAccumulator]


def boxes(svg: str) -> dict[str, tuple[float, float]]:
    found = re.findall(r"<title>(.*?)</title><rect x=\"([\d.]+)\" y=\"([\d.]+)\"", svg)
    return {name: (float(x), float(y)) for name, x, y in found}


@settings(max_examples=10)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(st.booleans(), min_size=4))
def test_every_task_stands_alone_and_below_its_sources(with_downsample, chosen):
    net = ModelBuilder(seed=5)
    x, channels = net.relu(net.conv(net.quant("image", -7), 3, 2, 3)), 2
    for downsample in with_downsample:
        x = net.block(x, channels, channels + downsample, 1)
        channels += downsample
    graph = net.model(x, [1, 3, 4, 4], [1, channels, 4, 4]).transform(LowerToHardware())
    for transformation, use in zip(OPTIONAL, chosen, strict=False):
        graph = graph.transform(transformation()) if use else graph
    places = boxes(draw_graph(graph))
    drawn = [node for node in graph.graph.node if node.op_type != "ParameterStream"]
    assert sorted(places) == sorted(node.name for node in drawn)
    assert len(set(places.values())) == len(places)
    for node in drawn:
        for name in node.input:
            source = graph.find_producer(name)
            if source is not None and source.name in places:
                assert places[source.name][1] < places[node.name][1]
