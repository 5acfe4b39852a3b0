"""Grouped convolutions lower to a task of their own, with the reference's codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finn_resnet.lowering.convolution import WIDEST_GROUP
from finn_resnet.transformation import LowerToHardware
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from tests.lowering.test_real_networks import Net
from tests.mixed_networks import differing_codes, pictures_for


def grouped_network(seed: int, group: int, part: int, per: int):
    """One grouped convolution: zero-points, scales per channel, strides and dilation drawn."""
    net = Net(seed)
    kernel, dilation = int(net.rng.integers(1, 4)), int(net.rng.integers(1, 3))
    stride = int(net.rng.integers(1, 3))
    pads = [int(p) for p in net.rng.integers(0, dilation * (kernel - 1) + 1, 4)]
    ich, och = group * part, group * per
    x = net.qdq("image", 0.04, int(net.rng.integers(-60, 60))) if net.chance(0.5) else None
    x = x or net.q("image", 2.0**-5)
    scale = 0.01 if net.chance(0.5) else net.rng.uniform(0.005, 0.02, (och, 1, 1, 1))
    weights = net.q(net.constant(net.rng.normal(0, 0.4, (och, part, kernel, kernel))), scale)
    inputs = [x, weights]
    if net.chance(0.5):
        inputs.append(net.constant(net.rng.normal(0, 0.3, och)))
    out = net.node(
        "Conv", inputs, group=group, strides=[stride] * 2, pads=pads, dilations=[dilation] * 2
    )
    out = net.q(net.activation(out), 0.05)
    size = 7
    edges = [(size + a + b - dilation * (kernel - 1) - 1) // stride + 1
             for a, b in ((pads[0], pads[2]), (pads[1], pads[3]))]  # fmt: skip
    return net.model(out, [1, och, *edges], size=[1, ich, size, size])


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=25)
def test_codes_are_the_references(seed: int, group: int, part: int, per: int) -> None:
    model = grouped_network(seed, group, part, per)
    hardware = model.transform(LowerToHardware())
    assert len(nodes_of(hardware, "StreamGroupedConv")) == (group > 1)
    assert differing_codes(model, pictures_for(model, seed)) == {}


def test_a_depthwise_layer_holds_its_own_weights_only() -> None:
    hardware = grouped_network(1, 4, 1, 2).transform(LowerToHardware())
    conv = as_op(nodes_of(hardware, "StreamGroupedConv")[0])
    weights = hardware.find_producer(conv.weights)
    assert hardware.get_initializer(weights.input[0]).shape[::3] == (8, 1)
    assert conv.attrs("ich", "och", "group", "och_par") == (4, 8, 4, 2)
    assert conv.problems() == []


@pytest.mark.parametrize(("part", "op"), [(WIDEST_GROUP, 1), (WIDEST_GROUP + 1, 0)])
def test_wide_groups_are_full_convolutions(part: int, op: int) -> None:
    model = grouped_network(2, 2, part, 1)
    hardware = model.transform(LowerToHardware())
    assert len(nodes_of(hardware, "StreamGroupedConv")) == op
    assert differing_codes(model, pictures_for(model, 2)) == {}


def test_scales_of_input_channels_become_part_of_their_groups_weights() -> None:
    net = Net(3)
    scale = np.array([1, 2, 4, 1]).reshape(1, 4, 1, 1) / 32
    x = net.q(net.q("image", 1 / 64), scale)
    weights = net.q(net.constant(net.rng.normal(0, 0.2, (4, 2, 3, 3))), 2.0**-4, bits=4)
    out = net.q(net.node("Conv", [x, weights], group=2, pads=[1] * 4), 2.0**-3)
    model = net.model(out, [1, 4, 6, 6])
    hardware = model.transform(LowerToHardware())
    assert len(nodes_of(hardware, "StreamGroupedConv")) == 1
    assert differing_codes(model, pictures_for(model, 3)) == {}
