"""Circuits of additions, requantisations and pools against the NumPy execution of their nodes."""

from __future__ import annotations

import numpy as np
import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.generation.edges import collect_edges
from finn_resnet.generation.rtl.elementwise_rtl import add_circuit, requant_circuit
from finn_resnet.generation.rtl.pool_rtl import pool_circuit
from finn_resnet.generation.task_code import NodeContext
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ThresholdStage
from tests.rtl.bench import Bench, Device, Stream, picture_tokens
from tests.rtl.test_window_buffer import Shape, window_tokens
from tests.stream_graphs import INT8, UINT8, StreamGraph, shift_to

pytestmark = pytest.mark.slow

CIRCUITS = {"StreamAdd": add_circuit, "StreamRequant": requant_circuit, "StreamPool": pool_circuit}


def graph() -> StreamGraph:
    """Nodes with even and ragged factors, every kind of requantiser, corner codes."""
    g = StreamGraph(5)
    a = g.input((3, 8, 4), UINT8, lanes=2, ch_par=2)
    b = g.input((3, 8, 4), INT8, lanes=2, ch_par=2)
    g.output(g.add("add_even", a, b, (1, 0), shift_to(INT8, 1)))
    a = g.input((3, 7, 5), INT8, lanes=3, ch_par=2)
    b = g.input((3, 7, 5), INT8, lanes=3, ch_par=2)
    g.output(g.add("add_ragged", a, b, (0, 2), shift_to(UINT8, 2, "CEIL")))
    x = g.input((3, 5, 5), INT8, lanes=2, ch_par=3)
    affine = AffineStage(tuple(range(3, 8)), (-9, 0, 5, 1, 2), 3, -128, 127)
    g.output(g.requant("affine", x, Requantiser((affine,))))
    x = g.input((2, 6, 6), UINT8, lanes=2, ch_par=2)
    rows = tuple(tuple(range(n, n + 15 * 9, 9)) for n in range(6))
    thresholds = ThresholdStage(-3, (1,) * 6, rows)
    g.output(g.requant("thresholds", x, Requantiser((thresholds,))))
    x = g.input((4, 4, 6), UINT8, lanes=2, ch_par=2)
    g.output(g.global_pool("global_average", x, "average", shift_to(UINT8, 4)))
    x = g.input((3, 5, 5), INT8, lanes=2, ch_par=2)
    g.output(g.global_pool("global_max", x, "max"))
    x = g.input((3, 3, 3), Range(-128, -5), lanes=3, ch_par=3)
    g.output(g.global_pool("negative_max", x, "max"))
    x = g.input((6, 6, 4), INT8, lanes=2, ch_par=2)
    g.output(g.pool("max", x, "max", (3, 3), (2, 2), (1, 1, 1, 1), 2, 2))
    x = g.input((6, 7, 5), UINT8, lanes=3, ch_par=2)
    averaged = shift_to(UINT8, 2)
    g.output(g.pool("average", x, "average", (2, 2), (1, 1), (0, 0, 0, 0), 2, 3, averaged))
    return g


def devices(g: StreamGraph) -> tuple[list[str], list[Device]]:
    """Sources and devices of all nodes that have a circuit here."""
    model, frames = g.model(), g.frames()
    ops = [getCustomOp(node) for node in model.graph.node]
    edges = collect_edges(model, ops)
    tensors = dict(zip((i.name for i in model.graph.input), frames.values(), strict=True))
    for op in ops:
        inputs = [tensors[name] for name in op.onnx_node.input]
        tensors |= zip(op.onnx_node.output, op.compute(inputs), strict=True)
    texts, made = [], []
    for op in ops:
        node = op.onnx_node
        if node.op_type not in CIRCUITS:
            continue
        sources = [edges[name] for name in node.input]
        out = edges[node.output[0]]
        context = NodeContext(op, sources, [out], {}, lambda index: None, 0)
        texts.append(CIRCUITS[node.op_type](context).circuit.text())
        names = ["a", "b"] if node.op_type == "StreamAdd" else ["in"]
        inputs = {name: _stream(edge, tensors) for name, edge in zip(names, sources, strict=True)}
        if node.op_type == "StreamPool" and op.get_nodeattr("windowed"):
            inputs = {"window": _window(model, node, tensors, sources[0])}
        made.append(Device(f"{node.name}_rtl", {}, inputs, {"out": _stream(out, tensors)}))
    return texts, made


def _stream(edge, tensors) -> Stream:
    tokens = picture_tokens(tensors[edge.tensor], edge.layout.lanes, edge.layout.token[0])
    return Stream(edge.codes.bits, tokens)


def _window(model, node, tensors, edge) -> Stream:
    """Window tokens of a pool, from what its window buffer reads."""
    buffer = getCustomOp(model.find_producer(node.input[0]))
    ih, iw, ich, ich_par, ow_par, fh, fw = buffer.attrs(
        "ih", "iw", "ich", "ich_par", "ow_par", "fh", "fw"
    )
    stride, pads, pad_value = buffer.attrs("stride", "pads", "pad_value")
    shape = Shape(
        *(ih, iw, ich, ich_par, ow_par, ow_par),
        *((fh, fw), tuple(stride), tuple(pads), pad_value),
    )
    codes = tensors[buffer.onnx_node.input[0]].astype(np.int64)
    return Stream(edge.codes.bits, [window_tokens(codes, shape)])


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    folder = tmp_path_factory.mktemp("streams")
    texts, made = devices(graph())
    (folder / "nodes.sv").write_text("\n".join(texts))
    return Bench(made, folder, [folder / "nodes.sv"])


def test_codes_equal_the_nodes_execution(bench):
    runs = bench.check(stalled=6)
    for index, device in enumerate(bench.devices):
        for port, stream in device.inputs.items():
            times = runs[0].cycles[index, port, 0]
            assert times[-1] + 1 == len(stream.tokens[0]), f"{device.module} stalls by itself"


def test_a_wrong_code_is_found(bench):
    """Negative control: one expected code is another one."""
    run = bench.run(stalled=0)[0]
    tokens = bench.devices[0].outputs["out"].tokens
    tokens[0][3, 0] += 1
    try:
        assert any("add_even" in text for text in bench.differences(run))
    finally:
        tokens[0][3, 0] -= 1
