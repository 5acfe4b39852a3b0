"""A hardware graph as C++ pieces: the code of all nodes, and the streams between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.custom_ops import InputDMA, OutputDMA, ParameterStream, WindowBuffer
from finn_resnet.custom_ops.base import DOMAIN, HardwareOp, to_codes
from finn_resnet.custom_ops.dma import BoundaryDMA
from finn_resnet.generation.edges import Edge, collect_edges, window_shape
from finn_resnet.generation.parameter_code import distributor_code
from finn_resnet.generation.project_file import ProjectPort
from finn_resnet.generation.registry import generator_of, headers_of
from finn_resnet.generation.task_code import (
    NodeCode,
    NodeContext,
    StreamDeclaration,
    WeightMemory,
)

_PROBES_PER_NODE = 3

PARAMETER_PORT = "parameters"
"""AXI stream argument that brings the loaded memories their words."""


@dataclass(frozen=True)
class Network:
    """Everything the files of a project are written from."""

    edges: list[Edge]
    streams: list[StreamDeclaration]
    nodes: list[NodeCode]
    inputs: list[ProjectPort]
    outputs: list[ProjectPort]
    headers: list[Path]

    @property
    def loaded_memories(self) -> list[WeightMemory]:
        """Memories filled at start-up, in the order of the parameter file."""
        return [memory for code in self.nodes for memory in code.memories if memory.loaded]

    @property
    def port_names(self) -> list[str]:
        """Arguments of the top function in order."""
        parameters = [PARAMETER_PORT] if self.loaded_memories else []
        inputs, outputs = ([port.name for port in side] for side in (self.inputs, self.outputs))
        return [*inputs, *parameters, *outputs]


def hardware_ops(model: ModelWrapper) -> list[HardwareOp]:
    """Custom ops of the hardware nodes in topological order.

    Raises:
        ValueError: a node between the host nodes is no hardware node, or one is illegal.
    """
    ops = []
    for node in _topological(model):
        if node.domain != DOMAIN:
            raise ValueError(f"node {node.name!r} ({node.op_type}) was not lowered to hardware")
        op = getCustomOp(node)
        if op.is_host:
            continue
        problems = op.problems()
        if problems:
            raise ValueError(f"node {node.name!r}: {'; '.join(problems)}")
        ops.append(op)
    return ops


def _topological(model: ModelWrapper) -> list[Any]:
    """Nodes in an order where every tensor is made before it is read; file order otherwise."""
    waiting = list(model.graph.node)
    made_by_nodes = {name for node in waiting for name in node.output}
    done: set[str] = set()
    ordered = []
    while waiting:
        ready = [
            node
            for node in waiting
            if all(name in done or name not in made_by_nodes for name in node.input)
        ]
        if not ready:
            raise ValueError("the graph has a cycle")
        first = ready[0]
        waiting.remove(first)
        ordered.append(first)
        done.update(first.output)
    return ordered


def build_network(model: ModelWrapper) -> Network:
    """Collect the code of all hardware nodes of ``model``."""
    ops = hardware_ops(model)
    edges = collect_edges(model, ops)
    inputs = boundary_ports(model, ops, InputDMA)
    outputs = boundary_ports(model, ops, OutputDMA)
    ports = {port.node: port.name for port in [*inputs, *outputs]}
    wires = window_wires(ops)
    streams = {tensor: _expression(tensor, edges, wires) for tensor in edges}
    nodes = []
    for index, op in enumerate(ops):
        node = op.onnx_node
        context = NodeContext(
            op=op,
            inputs=[edges.get(name) for name in node.input],
            outputs=[edges.get(name) for name in node.output],
            streams=streams,
            read=partial(read_constant, model),
            probe_id=index * _PROBES_PER_NODE,
            port=ports.get(node.name, ""),
        )
        nodes.append(generator_of(node.op_type).generate(context))
    unstreamed = {*wires, *_embedded(ops)}
    declared = [_declaration(edge) for edge in edges.values() if edge.tensor not in unstreamed]
    internal = [stream for code in nodes for stream in code.streams]
    loaded = [memory for code in nodes for memory in code.memories if memory.loaded]
    if loaded:
        nodes.insert(0, distributor_code(loaded, PARAMETER_PORT))
    headers = headers_of(op.onnx_node.op_type for op in ops)
    return Network(list(edges.values()), [*declared, *internal], nodes, inputs, outputs, headers)


def window_wires(ops: list[HardwareOp]) -> dict[str, str]:
    """Window tensors that are their buffer's input: window -> input."""
    return {
        op.onnx_node.output[0]: op.onnx_node.input[0]
        for op in ops
        if isinstance(op, WindowBuffer) and window_shape(op).is_wire
    }


def _expression(tensor: str, edges: dict[str, Edge], wires: dict[str, str]) -> str:
    if tensor in wires:
        return f"{edges[wires[tensor]].stream}[0]"
    return edges[tensor].stream


def _embedded(ops: list[HardwareOp]) -> list[str]:
    """Weights that lie in the convolution's own memory."""
    return [
        op.onnx_node.output[0] for op in ops if isinstance(op, ParameterStream) and op.is_embedded
    ]


def _declaration(edge: Edge) -> StreamDeclaration:
    return StreamDeclaration(
        name=edge.stream,
        token_type=edge.token_type,
        lanes=edge.layout.lanes,
        depth=edge.depth,
        width_bits=edge.width_bits,
        kind=edge.kind,
        node=edge.node,
        output=edge.output,
        tensor=edge.tensor,
    )


def read_constant(model: ModelWrapper, tensor: str) -> np.ndarray:
    """Integers (int64) of an initialiser, also behind the tasks that stream it."""
    while (producer := model.find_producer(tensor)) is not None:
        tensor = producer.input[0]
    return to_codes(model.get_initializer(tensor))


def boundary_ports(
    model: ModelWrapper, ops: list[HardwareOp], kind: type[BoundaryDMA]
) -> list[ProjectPort]:
    """AXI ports of the input or the output DMA nodes, outputs in the order of the graph's."""
    found = [op for op in ops if isinstance(op, kind)]
    if not found:
        raise ValueError(f"the graph has no {kind.__name__}")
    base = "input" if kind is InputDMA else "output"
    if kind is OutputDMA:
        order = _output_order(model)
        found.sort(key=lambda op: order.get(op.onnx_node.name, len(order)))
    ports = []
    for index, op in enumerate(found):
        h, w, ch, code_bytes, signed = op.attrs("h", "w", "ch", "code_bytes", "signed")
        node = op.onnx_node
        ports.append(
            ProjectPort(
                name=base if len(found) == 1 else f"{base}{index}",
                node=node.name,
                tensor=node.output[0],
                shape=(1, h, w, ch),
                code_bytes=code_bytes,
                signed=bool(signed),
            )
        )
    return ports


def _output_order(model: ModelWrapper) -> dict[str, int]:
    """OutputDMA nodes by the graph output they end in."""
    order = {}
    for index, output in enumerate(model.graph.output):
        node = model.find_producer(output.name)
        while node is not None and node.op_type != "OutputDMA":
            node = model.find_producer(node.input[0])
        if node is not None:
            order[node.name] = index
    return order
