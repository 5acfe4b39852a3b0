"""Writing factors into a hardware graph, and reading them back."""

from __future__ import annotations

from typing import Any

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.streams import WeightStream
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.network import Engine, read_network
from finn_resnet.transformation.graph_edit import as_op


def write_factors(model: ModelWrapper, factors: dict[str, EngineFactors]) -> None:
    """Set the factors of the named engines, and of every node that follows an engine."""
    network = read_network(model)
    for engine in network.engines:
        if engine.name in factors:
            _write_engine(engine, factors[engine.name])
    sides = [read_factors(engine).sides for engine in network.engines]
    for node, side in network.followers:
        profile = side.profile(sides[side.engine])
        as_op(node).follow(profile.lanes, profile.ch_par)


def read_factors(engine: Engine) -> EngineFactors:
    """The factors an engine's nodes carry."""
    found: dict[str, Any] = {}
    served = [engine.buffer] if engine.buffer is not None else []
    for node in (*engine.parameters, *served, engine.node):
        op = as_op(node)
        found.update({field: op.get_nodeattr(name) for field, name in op.factors.items()})
    # What an engine does not tell apart is one factor; without a window buffer that is the lanes.
    found.setdefault("ich_par", found["och_par"])
    found["in_lanes"] = as_op(engine.buffer).lanes_in() if served else found["ow_par"]
    styles = tuple(as_op(node).get_nodeattr("mem_style") for node in engine.parameters)
    return EngineFactors(**found, mem_styles=styles)


def _write_engine(engine: Engine, factors: EngineFactors) -> None:
    served = [engine.buffer] if engine.buffer is not None else []
    for node in (*engine.parameters, *served, engine.node):
        op = as_op(node)
        for field, name in op.factors.items():
            op.set_nodeattr(name, getattr(factors, field))
    streams = [s for s in as_op(engine.node).input_streams() if isinstance(s, WeightStream)]
    for node, style, stream in zip(engine.parameters, factors.mem_styles, streams, strict=True):
        as_op(node).set_nodeattr("mem_style", style)
        for name in ("och_par", "ich_par", "repeats"):
            as_op(node).set_nodeattr(name, getattr(stream, name))
