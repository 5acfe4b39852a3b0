"""The hardware graph as the parallelism search sees it: engines, followers and edges.

An *engine* is what one decision is about: a convolution with its window buffer and parameter
tasks, a windowed pool with its window buffer, or the input DMA. It has two sides: ``in`` is the
layout its window buffer reads (and forwards), ``out`` the layout its outputs have (and in which
it reads a skip stream). *Followers* (forks, additions, requantisers, global pools, the output
DMA) take the layout of the engine that feeds them. *Edges* run between sides; where the two
layouts differ, a width adapter is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp, SearchRole, WriteOrder
from finn_resnet.custom_ops.stream_concat import StreamConcat, concat_channels
from finn_resnet.custom_ops.streams import PictureStream, WeightStream, WindowStream
from finn_resnet.parallelism.node_shapes import picture
from finn_resnet.parallelism.stream_task_cost import Picture
from finn_resnet.transformation.graph_edit import as_op, hardware_ops
from finn_resnet.transformation.skip_buffers import skip_buffers
from finn_resnet.transformation.stream_profile import StreamProfile


@dataclass(frozen=True)
class Side:
    """Where a layout comes from: ``in`` or ``out`` side of an engine, or one lane of it.

    ``parts``: channels of the pictures that a concatenation joins, whose tokens must not mix.
    """

    engine: int
    side: str
    single_lane: bool = False
    parts: tuple[int, ...] = ()

    def profile(self, sides: dict[str, StreamProfile]) -> StreamProfile:
        """The layout, given the engine's own two."""
        lanes, ch_par = 1 if self.single_lane else sides[self.side].lanes, sides[self.side].ch_par
        return StreamProfile(lanes, concat_channels(self.parts, ch_par) if self.parts else ch_par)


@dataclass(frozen=True)
class Edge:
    """A picture on its way from one side to another.

    ``write_order``: that of the node that writes it. ``skip_pixels``: positions a skip stream
    holds back.
    """

    tensor: str
    source: Side
    sink: Side
    picture: Picture
    write_order: WriteOrder
    skip_pixels: int = 0


@dataclass(frozen=True)
class Engine:
    """One decision: ``node`` and the tasks that serve it."""

    node: NodeProto
    buffer: NodeProto | None = None
    parameters: tuple[NodeProto, ...] = ()

    @property
    def name(self) -> str:
        """That of the node."""
        return self.node.name


@dataclass
class Network:
    """Engines in topological order, followers with the side they follow, and the edges."""

    engines: list[Engine] = field(default_factory=list)
    followers: list[tuple[NodeProto, Side]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    skip_pixels: dict[str, int] = field(default_factory=dict)


def read_network(model: ModelWrapper) -> Network:
    """Read a hardware graph without width adapters (``RemoveWidthAdapters``).

    Raises:
        ValueError: an op that is neither engine nor follower is left over.
    """
    network = Network(skip_pixels={b.tensor: b.pixels for b in skip_buffers(model)})
    origins: dict[str, Side] = {}
    waiting = [op for op in hardware_ops(model) if op.role is not SearchRole.SERVED]
    while waiting:
        # A forwarded picture is known with the engine of its buffer, which may come later.
        op = next(o for o in waiting if all(name in origins for name in _read_by(model, o)))
        waiting.remove(op)
        if op.role is SearchRole.FOLLOWER:
            _add_follower(model, network, origins, op)
        elif op.role is SearchRole.ENGINE:
            _add_engine(model, network, origins, op)
        else:
            node = op.onnx_node
            raise ValueError(f"{node.op_type} {node.name} is no part of a network to parallelise")
    return network


def _read_by(model: ModelWrapper, op: HardwareOp) -> list[str]:
    """Pictures that an engine (through its window buffer, too) or a follower reads."""
    buffered = [model.find_producer(name).input[0] for name in op.reads(WindowStream)]
    return buffered + op.reads(PictureStream)


def _add_engine(
    model: ModelWrapper, network: Network, origins: dict[str, Side], op: HardwareOp
) -> None:
    index = len(network.engines)
    buffers = [model.find_producer(name) for name in op.reads(WindowStream)]
    parameters = tuple(model.find_producer(name) for name in op.reads(WeightStream))
    network.engines.append(Engine(op.onnx_node, *buffers[:1], parameters=parameters))
    for buffer in buffers:
        _add_edge(model, network, origins[buffer.input[0]], Side(index, "in"), buffer.input[0])
        for name in buffer.output[1:]:
            origins[name] = Side(index, "in")
    for name in op.reads(PictureStream):
        _add_edge(model, network, origins[name], Side(index, "out"), name)
    for name in op.onnx_node.output:
        origins[name] = Side(index, "out")


def _add_follower(
    model: ModelWrapper, network: Network, origins: dict[str, Side], op: HardwareOp
) -> None:
    node = op.onnx_node
    main = max(node.input, key=lambda name: origins[name].engine)
    side = origins[main]
    if isinstance(op, StreamConcat):
        side = replace(side, parts=op.parts)
    network.followers.append((node, side))
    for name in node.input:
        _add_edge(model, network, origins[name], side, name)
    for name, stream in zip(node.output, op.output_streams(), strict=True):
        # A picture of one column (behind a global pool) has one lane.
        narrow = isinstance(stream, PictureStream) and stream.w < op.input_picture().w
        single = side.single_lane or (narrow and stream.w == 1)
        origins[name] = replace(side, single_lane=single)


def _add_edge(model: ModelWrapper, network: Network, source: Side, sink: Side, tensor: str) -> None:
    producer = model.find_producer(tensor)
    size = picture(model, producer, list(producer.output).index(tensor))
    held = network.skip_pixels.get(tensor, 0)
    network.edges.append(Edge(tensor, source, sink, size, as_op(producer).write_order, held))
