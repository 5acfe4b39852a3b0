"""A network of depthwise layers and concatenated branches: built, verified, free of deadlock."""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.build import build
from finn_resnet.config import BuildConfig
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.transformation.skip_buffers import skip_buffers
from tests.mixed_networks import MixedNetwork, Picture, network_model


def branching_network() -> ModelWrapper:
    """A depthwise layer; branches of no, one and two windows; a depthwise layer that widens."""
    net = MixedNetwork(5)

    def conv(x: Picture, channels: int, kernel: int, group: int = 1, stride: int = 1) -> Picture:
        weights = net.weights((channels, x.channels // group, kernel, kernel))
        out = net.node(
            "Conv", [x.name, weights], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4,
            strides=[stride] * 2, group=group,
        )  # fmt: skip
        size = (-(-x.height // stride), -(-x.width // stride))
        return Picture(net.quant(net.node("Relu", [out])), channels, *size)

    x = conv(Picture(net.quant("image"), 3, 12, 12), 6, 3)
    x = conv(x, 6, 3, group=6)
    long = conv(conv(x, 4, 3), 5, 3)
    parts = [x, long, conv(x, 2, 1), conv(x, 6, 3, group=6)]
    joined = net.quant(net.node("Concat", [part.name for part in parts], axis=1))
    x = Picture(joined, sum(part.channels for part in parts), 12, 12)
    x = conv(conv(x, 2 * x.channels, 3, group=x.channels, stride=2), 4, 1)
    return network_model(net, [1, 3, 12, 12], x.name, [1, 4, 6, 6])


def test_it_is_built_verified_and_free_of_deadlock(cxx, tmp_path):
    branching_network().save(str(tmp_path / "branches.onnx"))
    config = BuildConfig(str(tmp_path / "branches.onnx"), "KV260", output_dir=str(tmp_path / "out"))
    report = build(config).report
    ops = [layer["op"] for layer in report["layers"]]
    assert ops.count("StreamGroupedConv") == 3 and ops.count("StreamConcat") == 1
    assert report["verification"]["mismatched_codes"] == 0
    assert report["verification"]["compared_codes"] > 10_000
    assert report["simulation"]["deadlock"] is None
    slowest = report["throughput"]["cycles_per_frame"]
    assert slowest <= report["simulation"]["cycles_per_frame"] <= slowest + 60
    graph = ModelWrapper(str(sorted((tmp_path / "out" / "intermediate_models").glob("*.onnx"))[-1]))
    join = as_op(nodes_of(graph, "StreamConcat")[0])
    # Every branch shorter than the longest one waits in a buffer of its own.
    held = [buffer for buffer in skip_buffers(graph) if buffer.join == join.onnx_node.name]
    assert len({buffer.tensor for buffer in held}) == 3
