"""Writing factors into a hardware graph, and reading them back."""

from __future__ import annotations

from math import ceil
from typing import Any

from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.network import Engine, read_network
from finn_resnet.transformation.stream_profile import StreamProfile


def write_factors(model: Any, factors: dict[str, EngineFactors]) -> None:
    """Set the factors of the named engines, and of every node that follows an engine."""
    network = read_network(model)
    for engine in network.engines:
        if engine.name in factors:
            _write_engine(engine, factors[engine.name])
    sides = [read_factors(engine).sides for engine in network.engines]
    for node, side in network.followers:
        _write_follower(node, side.profile(sides[side.engine]))


def read_factors(engine: Engine) -> EngineFactors:
    """The factors an engine's nodes carry."""
    op = getCustomOp(engine.node)
    if engine.node.op_type == "InputDMA":
        lanes, ch_par = op.attrs("lanes", "ch_par")
        return EngineFactors(ch_par, ch_par, lanes, lanes)
    in_lanes = getCustomOp(engine.buffer).lanes_in()
    link_style, buffer_style = getCustomOp(engine.buffer).attrs("link_style", "buffer_style")
    if engine.node.op_type == "StreamPool":
        ch_par, ow_par = op.attrs("ch_par", "ow_par")
        return EngineFactors(
            ch_par, ch_par, ow_par, in_lanes, link_style=link_style, buffer_style=buffer_style
        )
    och_par, ich_par, ow_par, mac_style, mem_mode = op.attrs(
        "och_par", "ich_par", "ow_par", "mac_style", "mem_mode"
    )
    styles = tuple(getCustomOp(node).get_nodeattr("mem_style") for node in engine.parameters)
    return EngineFactors(
        och_par, ich_par, ow_par, in_lanes, mac_style, styles, link_style, buffer_style, mem_mode
    )


def _write_engine(engine: Engine, factors: EngineFactors) -> None:
    if engine.node.op_type == "InputDMA":
        _set(engine.node, ch_par=factors.och_par, lanes=factors.ow_par)
        return
    _set(
        engine.buffer,
        ich_par=factors.ich_par,
        ow_par=factors.ow_par,
        in_lanes=factors.in_lanes,
        link_style=factors.link_style,
        buffer_style=factors.buffer_style,
    )
    _set(engine.node, buffer_style=factors.buffer_style)
    if engine.node.op_type == "StreamPool":
        _set(engine.node, ch_par=factors.och_par, ow_par=factors.ow_par)
        return
    _set(
        engine.node,
        och_par=factors.och_par,
        ich_par=factors.ich_par,
        ow_par=factors.ow_par,
        mac_style=factors.mac_style,
        mem_mode=factors.mem_mode,
    )
    oh, ow = getCustomOp(engine.node).attrs("oh", "ow")
    for node, mem_style in zip(engine.parameters, factors.mem_styles, strict=True):
        _set(
            node,
            och_par=factors.och_par,
            ich_par=factors.ich_par,
            repeats=oh * ceil(ow / factors.ow_par),
            mem_style=mem_style,
            mem_mode=factors.mem_mode,
        )


def _write_follower(node: NodeProto, profile: StreamProfile) -> None:
    if node.op_type == "StreamPool":
        _set(node, ch_par=profile.ch_par, ow_par=profile.lanes)
    else:
        _set(node, ch_par=profile.ch_par, lanes=profile.lanes)


def _set(node: NodeProto, **attributes: int | str) -> None:
    op = getCustomOp(node)
    for name, value in attributes.items():
        op.set_nodeattr(name, value)
