"""Residual blocks of unusual shape run through a whole build without a deadlock."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.build import build
from finn_resnet.config import BuildConfig
from finn_resnet.importing import load_model
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.transformation.recipe import lower, optimise
from tests.qonnx_models import ModelBuilder


def single(net: ModelBuilder, x: str) -> str:
    """A block with one convolution: its window buffer cannot forward to the convolution itself."""
    return net.relu(net.node("Add", [net.quant(net.conv(x, 4, 4, 3), -4), x]))


def narrow_second(net: ModelBuilder, x: str) -> str:
    """A 1x1 behind the 3x3 reads nothing ahead: a forwarded skip would come too late."""
    inner = net.relu(net.conv(x, 4, 4, 3))
    return net.relu(net.node("Add", [net.quant(net.conv(inner, 4, 4, 1), -5), x]))


def parallel(net: ModelBuilder, x: str) -> str:
    """Two single convolutions, and a third branch of two: the shallow ones wait."""
    left = net.quant(net.conv(x, 4, 4, 1), -5)
    right = net.quant(net.conv(x, 4, 4, 3), -5)
    deep = net.quant(net.conv(net.relu(net.conv(x, 4, 4, 3)), 4, 4, 3), -5)
    total = net.quant(net.node("Add", [net.quant(net.node("Add", [deep, left]), -4), right]), -4)
    return net.relu(total)


def unrelated_scales(net: ModelBuilder, x: str) -> str:
    """The addition has two multipliers and joins the convolution in front of it."""
    scales = [net.constant(v) for v in (0.0317, 0.0, 8.0)]
    main = net.node(
        "Quant", [net.conv(net.relu(net.conv(x, 4, 4, 3)), 4, 4, 3), *scales],
        domain="qonnx.custom_op.general", signed=1, narrow=0, rounding_mode="ROUND",
    )  # fmt: skip
    return net.relu(net.node("Add", [main, x]))


SHAPES = [single, narrow_second, parallel, unrelated_scales]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    net = ModelBuilder(5)
    x = net.relu(net.conv(net.quant("image", -7), 3, 4, 3))
    for shape in SHAPES:
        x = shape(net, x)
    path = tmp_path_factory.mktemp("shapes") / "shapes.onnx"
    net.model(x, [1, 3, 7, 6], [1, 4, 7, 6]).save(str(path))
    return str(path)


def test_additions_join_the_branch_that_comes_last(model):
    graph = optimise(lower(load_model(model)))
    assert [len(nodes_of(graph, op)) for op in ("StreamAdd", "StreamConv")] == [1, 9]
    multiplied = [
        as_op(node).attrs("acc_mult", "skip_mult")
        for node in nodes_of(graph, "StreamConv")
        if as_op(node).get_nodeattr("skip") == "epilogue"
    ]
    assert len(multiplied) == 4 and sum(pair != (1, 1) for pair in multiplied) == 1
    forwarding = [n for n in nodes_of(graph, "WindowBuffer") if as_op(n).get_nodeattr("forward")]
    assert [node.name for node in forwarding] == ["conv50_window"]


def test_they_run_without_deadlock_and_equal_the_model(model, cxx, tmp_path):
    report = build(BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"))).report
    assert report["verification"]["mismatched_codes"] == 0
    assert report["verification"]["compared_codes"] > 50_000
    simulation, modelled = report["simulation"], report["throughput"]["cycles_per_frame"]
    assert simulation["deadlock"] is None
    assert np.isclose(simulation["cycles_per_frame"], modelled, atol=40)
