"""Cycles and resources of every node of an annotated graph, by the cost model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import Board, Resources, total
from finn_resnet.custom_ops.base import HardwareOp, SearchRole
from finn_resnet.custom_ops.stream_conv import ConvOp
from finn_resnet.custom_ops.streams import PictureStream
from finn_resnet.parallelism.costed_network import Follower
from finn_resnet.parallelism.costs import cost_of
from finn_resnet.parallelism.engine_factors import read_factors
from finn_resnet.parallelism.engine_model import engine_model
from finn_resnet.parallelism.memory_cost import fifo_cost
from finn_resnet.parallelism.network import Network, read_network
from finn_resnet.parallelism.node_shapes import conv_operands, picture
from finn_resnet.parallelism.stream_task_cost import stream_bits
from finn_resnet.transformation.graph_edit import hardware_ops
from finn_resnet.transformation.insert_width_adapters import (
    InsertWidthAdapters,
    RemoveWidthAdapters,
)
from finn_resnet.transformation.set_stream_depths import SetStreamDepths
from finn_resnet.transformation.stream_profile import input_profile


@dataclass(frozen=True)
class LayerEstimate:
    """What the cost model says of one node; its output streams' FIFOs are included.

    ``cycles`` per frame. Factors that a node does not have are 1, styles it does not have "".
    ``products_per_dsp``: that can share a DSP at most (a merged downsample's own may differ), 0
    where DSPs do not multiply.
    ``bram36`` counts halves (BRAM18). ``lut`` and ``ff`` are the cost model's higher bounds, which
    the caps bind, ``low`` the lower bounds of all resources.
    """

    name: str
    op: str
    och_par: int
    ich_par: int
    ow_par: int
    mac_style: str
    products_per_dsp: int
    mem_style: str
    cycles: int
    dsp: int
    lut: int
    ff: int
    bram36: float
    uram: int
    low: dict[str, float]


@dataclass(frozen=True)
class Estimate:
    """All layers, their sum, and the throughput the slowest of them allows (a model)."""

    layers: list[LayerEstimate]
    totals: Resources
    cycles_per_frame: int
    fps: float
    bottleneck: str


def estimate(model: ModelWrapper, board: Board, clock_mhz: float | None = None) -> Estimate:
    """Cost of every hardware node of ``model`` at its present factors.

    Where the graph has no width adapters or stream depths yet, those that its factors call for
    are counted. ``clock_mhz`` is the board's if None.
    """
    model = _completed(model)
    costs = dict(_node_costs(model))
    layers = [
        _layer(node, *costs[node.name], _products_per_dsp(model, node))
        for node in (op.onnx_node for op in hardware_ops(model))
    ]
    # What serves an engine is as slow as the engine; that one is named.
    engines = {op.onnx_node.name for op in hardware_ops(model) if op.role is SearchRole.ENGINE}
    slowest = max(layers, key=lambda layer: (layer.cycles, layer.name in engines))
    clock = board.clock_mhz if clock_mhz is None else clock_mhz
    return Estimate(
        layers=layers,
        totals=total(_layer_resources(layer) for layer in layers),
        cycles_per_frame=slowest.cycles,
        fps=clock * 1e6 / slowest.cycles,
        bottleneck=slowest.name,
    )


def _layer_resources(layer: LayerEstimate) -> Resources:
    high = (layer.dsp, layer.lut, layer.ff, layer.bram36, layer.uram)
    return Resources(*high, layer.low["lut"], layer.low["ff"])


def _completed(model: ModelWrapper) -> ModelWrapper:
    """A copy with width adapters, and with the paper's stream depths where none are set."""
    has_depths = any(op.get_nodeattr("out_depths") for op in hardware_ops(model))
    model = model.transform(InsertWidthAdapters())
    return model if has_depths else model.transform(SetStreamDepths())


def _node_costs(model: ModelWrapper) -> Iterator[tuple[str, tuple[int, Resources]]]:
    """(node, (cycles, resources)) of every node, streams included."""
    streams = {op.onnx_node.name: _stream_cost(model, op) for op in hardware_ops(model)}
    for op in hardware_ops(model):
        if op.role is SearchRole.ADAPTER:
            cycles, cost = _adapter(model, op)
            yield op.onnx_node.name, (cycles, cost + streams[op.onnx_node.name])
    bare = model.transform(RemoveWidthAdapters())
    network: Network = read_network(bare)
    for engine in network.engines:
        factors = read_factors(engine)
        for task in engine_model(bare, engine).tasks(factors):
            yield task.node, (task.cycles, task.resources + streams[task.node])
    for node, _ in network.followers:
        follower = Follower(bare, node)
        profile = input_profile(node, 0)
        yield node.name, (follower.cycles(profile), follower.cost(profile) + streams[node.name])


def _adapter(model: ModelWrapper, op: HardwareOp) -> tuple[int, Resources]:
    (source,), (sink,) = op.input_streams(), op.output_streams()
    size = picture(model, op.onnx_node, 0)
    return cost_of(op)(size, source.profile, sink.profile)


def _stream_cost(model: ModelWrapper, op: HardwareOp) -> Resources:
    """FIFOs of the picture streams a node writes (windows and weights belong to their tasks)."""
    cost = Resources()
    for index, (stream, depth) in enumerate(zip(op.output_streams(), op.depths(), strict=True)):
        if isinstance(stream, PictureStream):
            bits = stream_bits(picture(model, op.onnx_node, index), stream.profile)
            cost += fifo_cost(depth, bits) * stream.lanes
    return cost


def _products_per_dsp(model: ModelWrapper, node: NodeProto) -> int:
    op = getCustomOp(node)
    if not isinstance(op, ConvOp) or op.get_nodeattr("mac_style") != "dsp":
        return 0
    _, _, packing = conv_operands(model, node)[0]
    return packing.products_of(op.get_nodeattr("och") // op.get_nodeattr("group"))


def _layer(node: NodeProto, cycles: int, cost: Resources, products_per_dsp: int) -> LayerEstimate:
    present = {attribute.name for attribute in node.attribute}
    op = getCustomOp(node)

    def factor(*names: str) -> int:
        return next((op.get_nodeattr(name) for name in names if name in present), 1)

    def style(name: str) -> str:
        return op.get_nodeattr(name) if name in op.get_nodeattr_types() else ""

    return LayerEstimate(
        name=node.name,
        op=node.op_type,
        och_par=factor("och_par", "ch_par", "out_ch_par"),
        ich_par=factor("ich_par", "ch_par", "in_ch_par"),
        ow_par=factor("ow_par", "lanes", "out_lanes"),
        mac_style=style("mac_style"),
        products_per_dsp=products_per_dsp,
        mem_style=style("mem_style"),
        cycles=cycles,
        dsp=round(cost.dsp),
        lut=round(cost.lut),
        ff=round(cost.ff),
        bram36=cost.bram36,
        uram=round(cost.uram),
        low={**cost.low.as_dict(), "lut": round(cost.lut_low), "ff": round(cost.ff_low)},
    )
