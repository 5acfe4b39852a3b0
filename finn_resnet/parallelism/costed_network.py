"""A network with its cost functions, evaluated once per layout and kept."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import Resources, total
from finn_resnet.parallelism.costs import cost_of
from finn_resnet.parallelism.engine_model import EngineFactors, engine_cost, engine_model
from finn_resnet.parallelism.network import Edge, Network, Side, read_network
from finn_resnet.parallelism.node_shapes import input_picture
from finn_resnet.parallelism.stream_cost import (
    conversion_cost,
    conversion_cycles,
    source_cost,
)
from finn_resnet.parallelism.stream_task_cost import Picture
from finn_resnet.transformation.stream_profile import StreamProfile


class Follower:
    """Cost functions of a node that takes the layout of the engine feeding it."""

    def __init__(self, model: Any, node: NodeProto) -> None:
        self.node = node
        self._op = getCustomOp(node)
        self._picture: Picture = input_picture(model, node)
        self._cost = cost_of(self._op)

    def cycles(self, profile: StreamProfile) -> int:
        """Cycles per frame."""
        return self._cost(self._op, self._picture, profile)[0]

    def cost(self, profile: StreamProfile) -> Resources:
        """Resources of the task."""
        return self._cost(self._op, self._picture, profile)[1]


class CostedNetwork:
    """Engines, followers and edges of a graph with memoised costs."""

    def __init__(self, model: Any) -> None:
        self.network: Network = read_network(model)
        self.engines = [engine_model(model, engine) for engine in self.network.engines]
        self.edges: list[Edge] = self.network.edges
        self._followers: dict[int, list[tuple[Follower, Side]]] = defaultdict(list)
        for node, side in self.network.followers:
            self._followers[side.engine].append((Follower(model, node), side))
        self._sources: dict[int, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            self._sources[edge.source.engine].append(edge)
        self._own: dict[tuple[int, EngineFactors], Resources] = {}
        self._converted: dict[tuple, tuple[int, Resources]] = {}

    def own_cost(self, index: int, factors: EngineFactors) -> Resources:
        """Resources of an engine, its followers and the streams they write."""
        key = (index, factors)
        if key not in self._own:
            self._own[key] = self._own_cost(index, factors)
        return self._own[key]

    def _own_cost(self, index: int, factors: EngineFactors) -> Resources:
        sides = factors.sides
        streams = total(source_cost(e, e.source.profile(sides)) for e in self._sources[index])
        followers = total(f.cost(side.profile(sides)) for f, side in self._followers[index])
        return engine_cost(self.engines[index], factors) + streams + followers

    def follower_cycles(self, index: int, factors: EngineFactors) -> int:
        """Cycles per frame of the slowest node that follows engine ``index`` (0 without any)."""
        sides = factors.sides
        cycles = [f.cycles(side.profile(sides)) for f, side in self._followers[index]]
        return max(cycles, default=0)

    def conversion(
        self, edge_index: int, source: StreamProfile, sink: StreamProfile
    ) -> tuple[int, Resources]:
        """Cycles and resources of the width adapter an edge needs between two layouts."""
        key = (edge_index, source, sink)
        if key not in self._converted:
            edge = self.edges[edge_index]
            self._converted[key] = (
                conversion_cycles(edge, source, sink),
                conversion_cost(edge, source, sink),
            )
        return self._converted[key]

    def cycles(self, chosen: list[EngineFactors]) -> dict[str, int]:
        """Cycles per frame of every engine, follower and adapter (by node or tensor name)."""
        found = {}
        for index, (engine, factors) in enumerate(zip(self.engines, chosen, strict=True)):
            found[engine.name] = engine.cycles(factors)
            for follower, side in self._followers[index]:
                found[follower.node.name] = follower.cycles(side.profile(factors.sides))
        for index, edge in enumerate(self.edges):
            source = edge.source.profile(chosen[edge.source.engine].sides)
            sink = edge.sink.profile(chosen[edge.sink.engine].sides)
            found[f"{edge.tensor}_adapter"] = self.conversion(index, source, sink)[0]
        return found

    def resources(self, chosen: list[EngineFactors]) -> Resources:
        """Resources of the whole network."""
        own = total(self.own_cost(index, factors) for index, factors in enumerate(chosen))
        adapters = total(
            self.conversion(
                index,
                edge.source.profile(chosen[edge.source.engine].sides),
                edge.sink.profile(chosen[edge.sink.engine].sides),
            )[1]
            for index, edge in enumerate(self.edges)
        )
        return own + adapters
