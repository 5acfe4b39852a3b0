"""A network of depthwise layers and concatenated branches: built, verified, free of deadlock."""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.build import build
from finn_resnet.config import BuildConfig
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.transformation.skip_buffers import skip_buffers
from tests.mixed_networks import branching_network


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
