"""C++ of one hardware node as an IP of its own: one stream of whole words per tensor.

The node's tasks are those of the generated accelerator; `packed_stream.hpp` splits FINN's words
into lane streams and joins them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.streams import BeatStream, PictureStream, Stream
from finn_resnet.errors import UserError
from finn_resnet.finn.plain_node import streams_first
from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.edges import Edge
from finn_resnet.generation.network import read_constant
from finn_resnet.generation.project import declaration, weight_text
from finn_resnet.generation.registry import GENERATORS, generator_of, headers_of
from finn_resnet.generation.task_code import (
    NodeCode,
    NodeContext,
    StreamDeclaration,
    WeightMemory,
)
from finn_resnet.generation.templates import render
from finn_resnet.transformation.graph_edit import code_range

INCLUDES = (*(header.name for header in headers_of(GENERATORS)), "packed_stream.hpp")
_BEATS = "beats"
_DEPTH = 2


@dataclass(frozen=True)
class NodePort:
    """A stream argument of the node's function: ``bits`` a word, ``words`` a frame."""

    name: str
    stream: Stream
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
        return render("finn_node.cpp", node=self, includes=INCLUDES)

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
        stream = op.input_streams()[index]
        if stream is not None:
            edge = _edge(model, node.input[index], f"in{position}", stream)
            _add_input(boundary, stream, edge)
    for index, tensor in enumerate(node.output):
        stream = op.output_streams()[index]
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


def _edge(model: ModelWrapper, tensor: str, name: str, stream: Stream) -> Edge:
    return Edge(
        tensor=tensor,
        node="",
        output=0,
        stream=name,
        layout=stream,
        codes=code_range(model, tensor),
        shape=stream.shape,
        depth=_DEPTH,
        kind="activation",
    )


def _add_input(boundary: _Boundary, stream: Stream, edge: Edge) -> None:
    port = _port(stream, edge, is_input=True)
    boundary.ports.append(port)
    if isinstance(stream, BeatStream):
        boundary.declarations.append(_beat_declaration())
        boundary.before.append(f"fr::words_to_beats<{port.words}>({port.name}_V, {_BEATS})")
        return
    _add_lanes(boundary, stream, edge, _DEPTH)
    task = f"fr::unpack_{_config(stream, edge)}({port.name}_V, {edge.stream})"
    boundary.before.append(task)


def _add_output(boundary: _Boundary, stream: Stream, edge: Edge) -> None:
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


def _port(stream: Stream, edge: Edge, *, is_input: bool) -> NodePort:
    bits = edge.codes.bits
    if isinstance(stream, BeatStream):
        bits = 8 * stream.code_bytes
    return NodePort(edge.stream, stream, stream.entries * bits, is_input)


def _beat_declaration() -> str:
    return _declare(_BEATS, "fr::axi_beat", 0, _DEPTH)


def _declare(name: str, token_type: str, lanes: int, depth: int) -> str:
    return declaration(StreamDeclaration(name, token_type, lanes, depth, 0, "internal", name, None))


def _add_lanes(boundary: _Boundary, stream: Stream, edge: Edge, depth: int) -> None:
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


def _config(stream: Stream, edge: Edge) -> str:
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
        read=partial(read_constant, model),
        probe_id=0,
        port=_BEATS,
    )
    return generator_of(node.op_type).generate(context)
