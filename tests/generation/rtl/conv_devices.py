"""Convolutions of a hardware graph as devices of the RTL bench: source, tokens in, tokens out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.generation.edges import collect_edges
from finn_resnet.generation.network import read_constant
from finn_resnet.generation.rtl.conv_node import conv_circuit
from finn_resnet.generation.rtl.conv_rtl import ConvCircuit
from finn_resnet.generation.task_code import NodeContext
from tests.rtl.bench import Device, Stream, picture_tokens
from tests.stream_graphs import StreamGraph


def conv_devices(
    graph: StreamGraph, count: int = 3, **options
) -> Iterator[tuple[ConvCircuit, Device]]:
    """Every convolution of ``graph`` with the tokens of ``count`` random frames.

    What must come out is the NumPy execution of the node, given what the frames make its inputs.
    """
    model = graph.model()
    ops = [getCustomOp(node) for node in model.graph.node]
    edges = collect_edges(model, ops)
    tensors = _execute(model, ops, graph.frames(count))
    for op in ops:
        node = op.onnx_node
        if node.op_type != "StreamConv":
            continue
        context = NodeContext(
            op,
            [edges.get(name) for name in node.input],
            [edges[name] for name in node.output],
            {},
            partial(read_constant, model),
            0,
        )
        circuit = conv_circuit(context, **options)
        yield circuit, _device(context, circuit, model, tensors, count)


def _execute(model, ops, frames) -> dict[str, np.ndarray]:
    """Every tensor's codes for all frames, by the ops' own execution."""
    names = [value.name for value in model.graph.input]
    tensors = dict(zip(names, frames.values(), strict=True))
    for op in ops:
        node = op.onnx_node
        if node.op_type == "ParameterStream":
            continue
        inputs = [
            tensors[name] if name in tensors else read_constant(model, name) for name in node.input
        ]
        tensors |= zip(node.output, op.compute(inputs), strict=True)
    return tensors


def _device(context, circuit: ConvCircuit, model, tensors, count: int) -> Device:
    op, node, text = context.op, context.op.onnx_node, circuit.text
    assert text
    inputs = {"window": Stream(context.inputs[0].codes.bits, [_windows(op, tensors, node)])}
    for port, branch in zip(("weights", "ds_weights"), circuit.layer.branches, strict=False):
        if not isinstance(branch.weights, str):
            inputs[port] = Stream(branch.weights.bits, [_weights(op, branch.mac, count)])
    och_par, ow_par = op.attrs("och_par", "ow_par")
    if op.has_skip:
        codes = context.inputs[-1].codes
        skip = picture_tokens(tensors[node.input[-1]], ow_par, och_par)
        inputs["skip"] = Stream(codes.bits, skip)
    outputs = {
        port: Stream(edge.codes.bits, picture_tokens(tensors[edge.tensor], ow_par, och_par))
        for port, edge in zip(("out", "ds_out"), context.outputs, strict=False)
    }
    return Device(circuit.layer.name, {}, inputs, outputs)


def _windows(op, tensors, node) -> np.ndarray:
    """Window tokens: output row, column group, input channel group; columns that no output uses
    hold 0."""
    oh, ow, fh, fw, ich = op.attrs("oh", "ow", "fh", "fw", "ich")
    ich_par, ow_par, stride = op.attrs("ich_par", "ow_par", "stride")
    single = tensors[node.input[0]].reshape(-1, oh, ow, fh, fw, ich)
    groups, columns = -(-ich // ich_par), fw + (ow_par - 1) * stride[1]
    shape = (len(single), oh, -(-ow // ow_par), groups * ich_par, fh, columns)
    tokens = np.zeros(shape, np.int64)
    for w in range(ow):
        og, lane = divmod(w, ow_par)
        at = lane * stride[1]
        tokens[:, :, og, :ich, :, at : at + fw] = single[:, :, w].transpose(0, 1, 4, 2, 3)
    split = tokens.reshape(*shape[:3], groups, ich_par, fh, columns)
    return split.transpose(0, 1, 2, 3, 5, 6, 4).reshape(-1, fh * columns * ich_par)


def _weights(op, mac, count: int) -> np.ndarray:
    """Weight tokens ``[och_par][ich_par][kernel]`` of all frames."""
    oh, repeats = op.get_nodeattr("oh"), mac.sizes.column_groups
    words = mac.rows.transpose(1, 0, 2).reshape(mac.sizes.words, -1)
    return np.tile(words, (count * oh * repeats, 1))
