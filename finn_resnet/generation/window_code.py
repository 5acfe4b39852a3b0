"""Code of a WindowBuffer: its slices, links and taps as tasks and streams of the top function."""

from __future__ import annotations

import json

from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.edges import window_shape
from finn_resnet.generation.task_code import NodeCode, NodeContext, StreamDeclaration, TaskCall
from finn_resnet.generation.window_chain import Chain, WindowShape, tap_depth, window_chains

_SLICE_STAGES = 2
_PAD_STAGES = 2
# Vitis HLS keeps FIFOs up to this size in shift registers; longer links follow link_style.
_SHIFT_REGISTER_BITS = 1024


def window_code(node: NodeContext) -> NodeCode:
    """Slices, padding task, link and tap streams; nothing at all for a wire."""
    shape = window_shape(node.op)
    if shape.is_wire:
        return NodeCode(node.name)
    code = NodeCode(node.name, structs=[_struct(node, shape)])
    overrides = json.loads(_internal_depths(node) or "{}")
    chains = window_chains(shape)
    code.streams = _internal_streams(node, shape, chains, overrides)
    for chain in chains:
        code.tasks += _chain_tasks(node, shape, chain)
    pad = f"fr::window_pad<{node.config}>({node.name}_tap, {node.stream_out(0)})"
    code.tasks.append(TaskCall(f"{node.name}_pad", pad, "WindowBuffer", _PAD_STAGES))
    return code


def _internal_depths(node: NodeContext) -> str:
    if "internal_depths" in node.op.get_nodeattr_types():
        return node.op.get_nodeattr("internal_depths")
    return ""


def _struct(node: NodeContext, shape: WindowShape) -> str:
    used = shape.used_columns
    constants = {
        **{key: getattr(shape, key) for key in ("ich", "ih", "iw", "oh", "ow", "fh", "fw")},
        "stride_h": shape.stride[0],
        "stride_w": shape.stride[1],
        "pad_top": shape.pads[0],
        "pad_left": shape.pads[1],
        "pad_value": node.op.get_nodeattr("pad_value"),
        **{key: getattr(shape, key) for key in ("ich_par", "ow_par", "in_lanes")},
        "tap_used": [column in used for column in range(shape.columns)],
        "taps": shape.fh * len(used),
    }
    doc = [
        f"{shape.ich} channels of {shape.ih}x{shape.iw} to {shape.oh}x{shape.ow} windows of "
        f"{shape.fh}x{shape.fw}, stride {shape.stride[0]}x{shape.stride[1]}.",
    ]
    types = {"token_t": node.inputs[0].token_type, "window_t": node.outputs[0].token_type}
    return config_struct(node.config, doc, constants, types)


def _internal_streams(
    node: NodeContext, shape: WindowShape, chains: list[Chain], overrides: dict[str, int]
) -> list[StreamDeclaration]:
    source = node.inputs[0]

    memory = {"lut": "lutram", "bram": "bram"}[node.op.get_nodeattr("link_style")]

    def internal(name: str, lanes: int, depth: int) -> StreamDeclaration:
        return StreamDeclaration(
            name=name,
            token_type=source.token_type,
            lanes=lanes,
            depth=overrides.get(name, depth),
            width_bits=source.width_bits,
            kind="internal",
            node=node.name,
            output=None,
            storage=memory if depth * source.width_bits > _SHIFT_REGISTER_BITS else "",
        )

    taps = shape.fh * len(shape.used_columns)
    streams = [internal(f"{node.name}_tap", taps, tap_depth(shape))]
    for chain in chains:
        for item in chain.slices:
            if item.previous is not None:
                link = f"{node.name}_link_{item.row}_{item.column}"
                streams.append(internal(link, 0, item.link_depth))
    return streams


def _chain_tasks(node: NodeContext, shape: WindowShape, chain: Chain) -> list[TaskCall]:
    """Tasks of a chain, newest slice first (topological order)."""
    lane_in = f"{node.stream_in(0)}[{chain.lane}]"
    forward = f"{node.stream_out(1)}[{chain.lane}]" if shape.forward else None
    if not chain.slices:
        suffix, ports = ("_forward", f"{lane_in}, {forward}") if forward else ("", lane_in)
        call = f"fr::window_drain{suffix}<{node.config}, {chain.lane}>({ports})"
        name = f"{node.name}_drain_{chain.lane}"
        return [TaskCall(name, call, "WindowBuffer", _SLICE_STAGES)]
    tasks = []
    used = shape.used_columns
    for position, item in enumerate(chain.slices):
        tap = f"{node.name}_tap[{item.row * len(used) + used.index(item.column)}]"
        source = lane_in if position == 0 else f"{node.name}_link_{item.row}_{item.column}"
        target = forward
        if not item.is_last:
            after = chain.slices[position + 1]
            target = f"{node.name}_link_{after.row}_{after.column}"
        ports = f"{source}, {tap}, {target}" if target else f"{source}, {tap}"
        suffix = "" if target else "_last"
        call = f"fr::window_slice{suffix}<{node.config}, {item.row}, {item.column}>({ports})"
        name = f"{node.name}_slice_{item.row}_{item.column}"
        tasks.append(TaskCall(name, call, "WindowBuffer", _SLICE_STAGES))
    return tasks
