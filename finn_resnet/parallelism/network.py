"""The hardware graph as the parallelism search sees it: engines, followers and edges.

An *engine* is what one decision is about: a convolution with its window buffer and parameter
tasks, a windowed pool with its window buffer, or the input DMA. It has two sides: ``in`` is the
layout its window buffer reads (and forwards), ``out`` the layout its outputs have (and in which
it reads a skip stream). *Followers* (forks, additions, requantisers, global pools, the output
DMA) take the layout of the engine that feeds them. *Edges* run between sides; where the two
layouts differ, a width adapter is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.parallelism.node_shapes import picture
from finn_resnet.parallelism.stream_task_cost import Picture
from finn_resnet.transformation.skip_buffers import skip_buffers
from finn_resnet.transformation.stream_profile import StreamProfile

_HOST_OPS = ("QuantizeInput", "DequantizeOutput")
_SERVING_OPS = ("WindowBuffer", "ParameterStream")
_FOLLOWER_OPS = ("StreamFork", "StreamAdd", "StreamRequant", "StreamPool", "OutputDMA")


@dataclass(frozen=True)
class Side:
    """Where a layout comes from: ``in`` or ``out`` side of an engine, or one lane of it."""

    engine: int
    side: str
    single_lane: bool = False

    def profile(self, sides: dict[str, StreamProfile]) -> StreamProfile:
        """The layout, given the engine's own two."""
        own = sides[self.side]
        return StreamProfile(1, own.ch_par) if self.single_lane else own


@dataclass(frozen=True)
class Edge:
    """A picture on its way from one side to another.

    ``writer``: op type of the node that writes it. ``skip_pixels``: positions a skip stream
    holds back.
    """

    tensor: str
    source: Side
    sink: Side
    picture: Picture
    writer: str
    skip_pixels: int = 0


@dataclass(frozen=True)
class Engine:
    """One decision: ``node`` (StreamConv, StreamPool or InputDMA) and the tasks that serve it."""

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


def read_network(model: Any) -> Network:
    """Read a hardware graph without width adapters (``RemoveWidthAdapters``)."""
    network = Network(skip_pixels={b.tensor: b.pixels for b in skip_buffers(model)})
    origins: dict[str, Side] = {}
    waiting = [n for n in model.graph.node if n.op_type not in (*_HOST_OPS, *_SERVING_OPS)]
    while waiting:
        # A forwarded picture is known with the engine of its buffer, which may come later.
        node = next(n for n in waiting if all(name in origins for name in _read_by(model, n)))
        waiting.remove(node)
        if node.op_type in _FOLLOWER_OPS and not _is_windowed(node):
            _add_follower(model, network, origins, node)
        elif node.op_type in ("StreamConv", "StreamPool", "InputDMA"):
            _add_engine(model, network, origins, node)
        else:
            raise ValueError(f"{node.op_type} {node.name} is no part of a network to parallelise")
    return network


def _read_by(model: Any, node: NodeProto) -> list[str]:
    """Pictures that an engine (through its window buffer) or a follower reads."""
    if node.op_type == "InputDMA":
        return []
    if node.op_type == "StreamConv" or _is_windowed(node):
        buffered = model.find_producer(node.input[0]).input[0]
        has_skip = node.op_type == "StreamConv" and getCustomOp(node).has_skip
        return [buffered, node.input[-1]] if has_skip else [buffered]
    return list(node.input)


def _is_windowed(node: NodeProto) -> bool:
    return node.op_type == "StreamPool" and bool(getCustomOp(node).get_nodeattr("windowed"))


def _add_engine(model: Any, network: Network, origins: dict[str, Side], node: NodeProto) -> None:
    index = len(network.engines)
    if node.op_type == "InputDMA":
        network.engines.append(Engine(node))
    else:
        buffer = model.find_producer(node.input[0])
        producers = [model.find_producer(name) for name in node.input[1:]]
        parameters = [p for p in producers if p is not None and p.op_type == "ParameterStream"]
        network.engines.append(Engine(node, buffer, tuple(parameters)))
        _add_edge(model, network, origins[buffer.input[0]], Side(index, "in"), buffer.input[0])
        for name in buffer.output[1:]:
            origins[name] = Side(index, "in")
    if node.op_type == "StreamConv" and getCustomOp(node).has_skip:
        name = node.input[-1]
        _add_edge(model, network, origins[name], Side(index, "out"), name)
    for name in node.output:
        origins[name] = Side(index, "out")


def _add_follower(model: Any, network: Network, origins: dict[str, Side], node: NodeProto) -> None:
    main = max(node.input, key=lambda name: origins[name].engine)
    side = origins[main]
    network.followers.append((node, side))
    for name in node.input:
        _add_edge(model, network, origins[name], side, name)
    if node.op_type == "StreamPool":
        side = Side(side.engine, side.side, single_lane=True)
    for name in node.output:
        origins[name] = side


def _add_edge(model: Any, network: Network, source: Side, sink: Side, tensor: str) -> None:
    producer = model.find_producer(tensor)
    size = picture(model, producer, list(producer.output).index(tensor))
    held = network.skip_pixels.get(tensor, 0)
    network.edges.append(Edge(tensor, source, sink, size, producer.op_type, held))
