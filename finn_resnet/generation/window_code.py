"""Code of a WindowBuffer: the tasks and streams of its slices or rows."""

from __future__ import annotations

import json

from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.cpp import code_type
from finn_resnet.generation.edges import window_shape
from finn_resnet.generation.registry import generates
from finn_resnet.generation.task_code import NodeCode, NodeContext, StreamDeclaration, TaskCall
from finn_resnet.generation.window_chain import Chain, WindowShape, tap_depth, window_chains
from finn_resnet.parallelism.coefficients import coefficient

# Vitis HLS keeps FIFOs up to this size in shift registers; longer links follow link_style.
_SHIFT_REGISTER_BITS = 1024


@generates("WindowBuffer", header=("window_buffer.hpp", "window_rows.hpp"))
def window_code(node: NodeContext) -> NodeCode:
    """Slices or rows and their streams; nothing at all for a wire."""
    shape = window_shape(node.op)
    if shape.is_wire:
        return NodeCode(node.name)
    rows = node.op.get_nodeattr("buffer_style") == "rows"
    return _row_code(node, shape) if rows else _slice_code(node, shape)


def _slice_code(node: NodeContext, shape: WindowShape) -> NodeCode:
    used = shape.used_columns
    constants = {
        "tap_used": [column in used for column in range(shape.columns)],
        "taps": shape.fh * len(used),
    }
    types = {"window_t": node.outputs[0].token_type}
    code = NodeCode(node.name, structs=[_struct(node, shape, constants, types)])
    streams = _InternalStreams(node)
    source = node.inputs[0]
    token = (source.token_type, source.width_bits)
    streams.add("tap", tap_depth(shape), *token, lanes=shape.fh * len(used))
    for chain in window_chains(shape):
        for item in chain.slices:
            if item.previous is not None:
                streams.add(f"link_{item.row}_{item.column}", item.link_depth, *token)
        code.tasks += _chain_tasks(node, shape, chain)
    code.streams = streams.declared
    pad = f"fr::window_pad<{node.config}>({node.name}_tap, {node.stream_out()})"
    code.tasks.append(
        TaskCall(f"{node.name}_pad", pad, "WindowBuffer", coefficient("window_stages"))
    )
    return code


def _row_code(node: NodeContext, shape: WindowShape) -> NodeCode:
    row = node.op.row_window()
    source = node.inputs[0]
    link_codes = shape.in_lanes * shape.ich_par
    types = {
        "link_t": f"fr::token<{code_type(source.codes)}, {link_codes}>",
        "row_t": node.outputs[0].token_type,
    }
    constants = {key: getattr(row, key) for key in ("lookahead", "history", "flush")}
    code = NodeCode(node.name, structs=[_struct(node, shape, constants, types)])
    streams = _InternalStreams(node)
    depth = row.lane_groups * shape.groups
    # Newest row first: it reads the picture.
    for index in reversed(range(shape.fh)):
        if index < shape.fh - 1:
            bits = link_codes * source.codes.bits
            streams.add(f"link_{index}", depth, f"{node.config}::link_t", bits)
        code.tasks.append(_row_task(node, shape, index))
    code.streams = streams.declared
    return code


def _row_task(node: NodeContext, shape: WindowShape, index: int) -> TaskCall:
    name = node.name
    newest = index == shape.fh - 1
    source = node.stream_in() if newest else f"{name}_link_{index}"
    ports = [source, f"{node.stream_out()}[{index}]"]
    suffix = "_first" if newest else ""
    if index:
        ports.append(f"{name}_link_{index - 1}")
    elif shape.forward:
        ports.append(node.stream_out(1))
        suffix = "_forward"
    else:
        suffix = "_last"
    call = f"fr::window_row{suffix}<{node.config}, {index}>({', '.join(ports)})"
    return TaskCall(f"{name}_row_{index}", call, "WindowBuffer", coefficient("window_stages"))


def _struct(
    node: NodeContext,
    shape: WindowShape,
    extra: dict[str, int | list[bool]],
    extra_types: dict[str, str],
) -> str:
    constants = {
        **{key: getattr(shape, key) for key in ("ich", "ih", "iw", "oh", "ow", "fh", "fw")},
        "stride_h": shape.stride[0],
        "stride_w": shape.stride[1],
        "pad_top": shape.pads[0],
        "pad_left": shape.pads[1],
        "pad_value": node.op.get_nodeattr("pad_value"),
        **{key: getattr(shape, key) for key in ("ich_par", "ow_par", "in_lanes")},
        **extra,
    }
    doc = [
        f"{shape.ich} channels of {shape.ih}x{shape.iw} to {shape.oh}x{shape.ow} windows of "
        f"{shape.fh}x{shape.fw}, stride {shape.stride[0]}x{shape.stride[1]}.",
    ]
    types = {"token_t": node.inputs[0].token_type, **extra_types}
    return config_struct(node.config, doc, constants, types)


class _InternalStreams:
    """Declares the streams inside a window buffer, at their formula depths or as sized."""

    def __init__(self, node: NodeContext) -> None:
        self.declared: list[StreamDeclaration] = []
        self._name = node.name
        self._sized = json.loads(node.op.get_nodeattr("internal_depths") or "{}")
        self._memory = {"lut": "lutram", "bram": "bram"}[node.op.get_nodeattr("link_style")]

    def add(
        self, suffix: str, depth: int, token_type: str, width_bits: int, *, lanes: int = 0
    ) -> None:
        """Declare ``<node>_<suffix>``, an array if ``lanes``, of ``depth`` tokens each."""
        name = f"{self._name}_{suffix}"
        self.declared.append(
            StreamDeclaration(
                name=name,
                token_type=token_type,
                lanes=lanes,
                depth=self._sized.get(name, depth),
                width_bits=width_bits,
                kind="internal",
                node=self._name,
                output=None,
                storage=self._memory if depth * width_bits > _SHIFT_REGISTER_BITS else "",
            )
        )


def _chain_tasks(node: NodeContext, shape: WindowShape, chain: Chain) -> list[TaskCall]:
    """Tasks of a chain, newest slice first (topological order)."""
    lane_in = f"{node.stream_in()}[{chain.lane}]"
    forward = f"{node.stream_out(1)}[{chain.lane}]" if shape.forward else None
    if not chain.slices:
        suffix, ports = ("_forward", f"{lane_in}, {forward}") if forward else ("", lane_in)
        call = f"fr::window_drain{suffix}<{node.config}, {chain.lane}>({ports})"
        name = f"{node.name}_drain_{chain.lane}"
        return [TaskCall(name, call, "WindowBuffer", coefficient("window_stages"))]
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
        tasks.append(TaskCall(name, call, "WindowBuffer", coefficient("window_stages")))
    return tasks
