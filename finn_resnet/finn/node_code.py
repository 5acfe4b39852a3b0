"""C++ of one hardware node as an IP of its own: one stream of whole words per tensor.

The node's tasks are those of the generated accelerator; `packed_stream.hpp` splits FINN's words
into lane streams and joins them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp, to_codes
from finn_resnet.errors import UserError
from finn_resnet.finn.folded_streams import (
    BeatStream,
    FoldedStream,
    PictureStream,
    WeightStream,
    input_stream,
    output_stream,
)
from finn_resnet.finn.plain_node import streams_first
from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.conv_code import conv_code
from finn_resnet.generation.dma_code import dma_code
from finn_resnet.generation.edges import Edge, Layout
from finn_resnet.generation.elementwise_code import adapter_code, add_code, fork_code, requant_code
from finn_resnet.generation.parameter_code import parameter_code
from finn_resnet.generation.pool_code import pool_code
from finn_resnet.generation.project import declaration, weight_text
from finn_resnet.generation.task_code import (
    NodeCode,
    NodeContext,
    StreamDeclaration,
    WeightMemory,
)
from finn_resnet.generation.window_code import window_code
from finn_resnet.transformation.graph_edit import code_range

INCLUDES = (
    "conv.hpp",
    "dma.hpp",
    "elementwise.hpp",
    "packed_stream.hpp",
    "parameters.hpp",
    "pool.hpp",
    "width_adapter.hpp",
    "window_buffer.hpp",
    "window_rows.hpp",
)
_BEATS = "beats"
_GENERATORS: dict[str, Callable[[NodeContext], NodeCode]] = {
    "InputDMA": lambda node: dma_code(node, _BEATS),
    "OutputDMA": lambda node: dma_code(node, _BEATS),
    "ParameterStream": parameter_code,
    "StreamAdd": add_code,
    "StreamConv": conv_code,
    "StreamFork": fork_code,
    "StreamPool": pool_code,
    "StreamRequant": requant_code,
    "StreamWidthAdapter": adapter_code,
    "WindowBuffer": window_code,
}
_DEPTH = 2


@dataclass(frozen=True)
class NodePort:
    """A stream argument of the node's function: ``bits`` a word, ``words`` a frame."""

    name: str
    stream: FoldedStream
    bits: int
    is_input: bool

    @property
    def words(self) -> int:
        """Words of a frame."""
        return prod(self.stream.words)


@dataclass(frozen=True)
class NodeIp:
    """The pieces of the C++ source, as lines, and the weight files beside it."""

    name: str
    ports: list[NodePort]
    definitions: list[str]
    body: list[str]
    memories: list[WeightMemory]

    @property
    def signature(self) -> str:
        """Head of the function."""
        arguments = ", ".join(f"fr::stream<ap_uint<{p.bits}>>& {p.name}_V" for p in self.ports)
        return f"void {self.name}({arguments})"

    @property
    def pragmas(self) -> list[str]:
        """Interface and dataflow."""
        return [
            *[f"#pragma HLS interface axis port={port.name}_V" for port in self.ports],
            "#pragma HLS interface ap_ctrl_none port=return",
            "#pragma HLS dataflow",
        ]

    @property
    def source(self) -> str:
        """The whole C++ source; weights are in ``weights/`` beside it."""
        lines = [
            # The vendor's headers limit integers to 1024 bits unless told otherwise.
            f"#define AP_INT_MAX_W {max(port.bits for port in self.ports)}",
            *[f'#include "{header}"' for header in INCLUDES],
            *self.definitions,
            f"{self.signature} {{",
            *self.pragmas,
            *self.body,
            "}",
        ]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> None:
        """Write ``top_<name>.cpp`` and its weights."""
        (folder / "weights").mkdir(exist_ok=True)
        for memory in self.memories:
            (folder / "weights" / f"{memory.name}.inc").write_text(
                weight_text(memory), encoding="utf-8"
            )
        (folder / f"top_{self.name}.cpp").write_text(self.source, encoding="utf-8")


@dataclass
class _Boundary:
    """What lies between the ports and the node's own tasks."""

    ports: list[NodePort] = field(default_factory=list)
    edges: dict[str, Edge] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


# What only our own top function can connect: attribute, value, why, remedy.
_REFUSED = (
    ("buffer_style", "rows", "needs a stream for every window row", "slices"),
    ("mem_mode", "internal_embedded", "has no FINN node for the weights", "internal_decoupled"),
    ("mem_style", "uram", "has no initial contents, and FINN no stream to fill it", "lut or bram"),
)


def _refuse(op: HardwareOp) -> None:
    for name, value, why, remedy in _REFUSED:
        if name in op.get_nodeattr_types() and op.get_nodeattr(name) == value:
            raise UserError(f"node {op.onnx_node.name}: {name} {value} {why}; choose {remedy}")


def node_ip(op: HardwareOp, model: ModelWrapper, name: str) -> NodeIp:
    """Generate the IP of the hardware op ``op``, whose tensors ``model`` annotates.

    The function is called ``name``; its streams are ``in0_V``, ... in the order of the FINN node's
    inputs, and ``out0_V``, ...

    Raises:
        UserError: weights in URAM, which a FINN design has no way to fill, or neighbours that are
            not connected by one stream (window rows, embedded weights).
    """
    node = op.onnx_node
    _refuse(op)
    boundary = _Boundary()
    for position, index in enumerate(streams_first(op)):
        stream = input_stream(op, index)
        if stream is not None:
            edge = _edge(model, node.input[index], f"in{position}", stream)
            _add_input(boundary, stream, edge)
    for index, tensor in enumerate(node.output):
        stream = output_stream(op, index)
        _add_output(boundary, stream, _edge(model, tensor, f"out{index}", stream))
    code = _node_code(op, model, boundary.edges)
    if not code.tasks:
        source, sink = boundary.ports
        pass_on = f"fr::pass_words<{source.words}>({source.name}_V, {sink.name}_V)"
        return NodeIp(name, boundary.ports, [], _tasks([pass_on]), [])
    calls = [*boundary.before, *[task.call for task in code.tasks], *boundary.after]
    return NodeIp(
        name=name,
        ports=boundary.ports,
        definitions=[*boundary.definitions, *code.structs, *code.functions],
        body=[
            *boundary.declarations,
            *[declaration(stream) for stream in code.streams],
            *_tasks(calls),
        ],
        memories=code.memories,
    )


def _tasks(calls: list[str]) -> list[str]:
    lines = [f'  FR_TASK("task{index}", {call});' for index, call in enumerate(calls)]
    return [*lines, "  FR_DATAFLOW_END();"]


def _edge(model: ModelWrapper, tensor: str, name: str, stream: FoldedStream) -> Edge:
    return Edge(
        tensor=tensor,
        node="",
        output=0,
        stream=name,
        layout=_layout(stream),
        codes=code_range(model, tensor),
        shape=stream.shape,
        depth=_DEPTH,
        kind="activation",
    )


def _layout(stream: FoldedStream) -> Layout:
    if isinstance(stream, PictureStream):
        return Layout(stream.lanes, (stream.ch_par,))
    if isinstance(stream, WeightStream):
        return Layout(0, (stream.och_par, stream.entries // stream.och_par))
    return Layout(0, (stream.entries,))


def _add_input(boundary: _Boundary, stream: FoldedStream, edge: Edge) -> None:
    port = _port(stream, edge, is_input=True)
    boundary.ports.append(port)
    if isinstance(stream, BeatStream):
        boundary.declarations.append(_beat_declaration())
        boundary.before.append(f"fr::words_to_beats<{port.words}>({port.name}_V, {_BEATS})")
        return
    _add_lanes(boundary, stream, edge, _DEPTH)
    task = f"fr::unpack_{_config(stream, edge)}({port.name}_V, {edge.stream})"
    boundary.before.append(task)


def _add_output(boundary: _Boundary, stream: FoldedStream, edge: Edge) -> None:
    port = _port(stream, edge, is_input=False)
    boundary.ports.append(port)
    if isinstance(stream, BeatStream):
        boundary.declarations.append(_beat_declaration())
        boundary.after.append(f"fr::beats_to_words<{port.words}>({_BEATS}, {port.name}_V)")
        return
    # The lanes of a forwarded picture leave the window buffer up to one pixel apart.
    depth = _DEPTH + (stream.words[-1] if isinstance(stream, PictureStream) else 0)
    _add_lanes(boundary, stream, edge, depth)
    boundary.after.append(f"fr::pack_{_config(stream, edge)}({edge.stream}, {port.name}_V)")


def _port(stream: FoldedStream, edge: Edge, *, is_input: bool) -> NodePort:
    bits = edge.codes.bits
    if isinstance(stream, BeatStream):
        bits = 8 * stream.code_bytes
    return NodePort(edge.stream, stream, stream.entries * bits, is_input)


def _beat_declaration() -> str:
    return _declare(_BEATS, "fr::axi_beat", 0, _DEPTH)


def _declare(name: str, token_type: str, lanes: int, depth: int) -> str:
    return declaration(StreamDeclaration(name, token_type, lanes, depth, 0, "internal", name, None))


def _add_lanes(boundary: _Boundary, stream: FoldedStream, edge: Edge, depth: int) -> None:
    boundary.edges[edge.tensor] = edge
    boundary.definitions.append(f"using {edge.token_type} = {edge.token_cpp};")
    if isinstance(stream, PictureStream):
        constants = {
            "h": stream.h,
            "w": stream.w,
            "lanes": stream.lanes,
            "groups": stream.words[-1],
        }
        doc = [f"Picture of port {edge.stream}_V."]
        boundary.definitions.append(config_struct(f"{edge.stream}_port", doc, constants, {}))
    boundary.declarations.append(_declare(edge.stream, edge.token_type, edge.layout.lanes, depth))


def _config(stream: FoldedStream, edge: Edge) -> str:
    if edge.layout.lanes:
        return f"lanes<{edge.stream}_port>"
    return f"words<{prod(stream.words)}>"


def _node_code(op: HardwareOp, model: ModelWrapper, edges: dict[str, Edge]) -> NodeCode:
    node = op.onnx_node
    context = NodeContext(
        op=op,
        inputs=[edges.get(name) for name in node.input],
        outputs=[edges.get(name) for name in node.output],
        streams={tensor: edge.stream for tensor, edge in edges.items()},
        constant=_constants(op, model),
        probe_id=0,
    )
    return _GENERATORS[node.op_type](context)


def _constants(op: HardwareOp, model: ModelWrapper) -> Callable[[int], np.ndarray]:
    """Reader of initialisers by input index; weights are found behind their stream."""

    def constant(index: int) -> np.ndarray:
        tensor = op.onnx_node.input[index]
        while (producer := model.find_producer(tensor)) is not None:
            tensor = producer.input[0]
        return to_codes(model.get_initializer(tensor))

    return constant
