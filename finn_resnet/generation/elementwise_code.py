"""Code of the nodes that keep the picture's shape: fork, add, requantise, width adapter."""

from __future__ import annotations

from itertools import accumulate
from math import ceil

from finn_resnet.generation.config_struct import Member, config_struct
from finn_resnet.generation.cpp import signed_bits
from finn_resnet.generation.project_file import ProjectProbe
from finn_resnet.generation.registry import generates
from finn_resnet.generation.requant_config import requant_config
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall
from finn_resnet.parallelism.coefficients import coefficient


@generates("StreamFork", header="elementwise.hpp")
def fork_code(node: NodeContext) -> NodeCode:
    """One task that copies every token to all outputs."""
    constants = {**_picture(node), "copies": node.op.get_nodeattr("copies")}
    doc = [f"{constants['copies']} copies of {_extent(node)}."]
    struct = config_struct(node.config, doc, constants, {"token_t": node.inputs[0].token_type})
    outputs = range(len(node.outputs))
    ports = ", ".join([node.stream_in(), *(node.stream_out(i) for i in outputs)])
    call = f"fr::stream_fork<{node.config}>({ports})"
    return NodeCode(
        node.name,
        [struct],
        tasks=[TaskCall(node.name, call, "StreamFork", coefficient("fork_stages"))],
    )


@generates("StreamAdd", header="elementwise.hpp")
def add_code(node: NodeContext) -> NodeCode:
    """The residual addition and the requantisation of its sum."""
    a, b, out = node.edge("a"), node.edge("b"), node.outputs[0]
    total = node.op.total_range(a.codes.including(0), b.codes.including(0))
    ch, ch_par = node.op.attrs("ch", "ch_par")
    mult_a, mult_b = node.op.factors_of_operands()
    name = f"{node.name}_requant"
    requant = requant_config(node.op.requantiser(), total, name, ch, ch_par)
    constants = {
        **_picture(node),
        "mult_a": mult_a,
        "mult_b": mult_b,
        "total_bits": signed_bits(total),
        "out_bits": out.codes.bits,
        "out_signed": out.codes.signed,
        "total_probe": node.probe_id,
    }
    types = {
        "a_t": a.token_type,
        "b_t": b.token_type,
        "out_t": out.token_type,
        "requant": requant.type_name,
    }
    struct = config_struct(node.config, [f"Sum of two pictures {_extent(node)}."], constants, types)
    ports = f"{node.stream_in('a')}, {node.stream_in('b')}, {node.stream_out()}"
    call = f"fr::stream_add<{node.config}>({ports})"
    return NodeCode(
        node.name,
        [*requant.structs, struct],
        tasks=[TaskCall(node.name, call, "StreamAdd", coefficient("add_stages"))],
        probes=[picture_probe(node)],
    )


@generates("StreamConcat", header="elementwise.hpp")
def concat_code(node: NodeContext) -> NodeCode:
    """The parts of every pixel in turn, requantised."""
    out, op = node.outputs[0], node.op
    total = op.total_range(*(edge.codes for edge in node.inputs)).including(0)
    ch, ch_par = op.attrs("ch", "ch_par")
    requant = requant_config(op.requantiser(), total, f"{node.name}_requant", ch, ch_par)
    constants: dict[str, Member] = {
        **_picture(node),
        "part_end": list(accumulate(-(-part // ch_par) for part in op.parts)),
        "total_bits": signed_bits(total),
        "out_bits": out.codes.bits,
        "out_signed": out.codes.signed,
        "total_probe": node.probe_id,
    }
    types = {"out_t": out.token_type, "requant": requant.type_name}
    doc = f"{' + '.join(map(str, op.parts))} channels of {_extent(node)}."
    struct = config_struct(node.config, [doc], constants, types)
    ports = ", ".join([node.stream_out(), *map(node.stream_in, op.operands())])
    task = TaskCall(
        node.name,
        f"fr::stream_concat<{node.config}>({ports})",
        "StreamConcat",
        coefficient("concat_stages"),
    )
    return NodeCode(
        node.name, [*requant.structs, struct], tasks=[task], probes=[picture_probe(node)]
    )


@generates("StreamRequant", header="elementwise.hpp")
def requant_code(node: NodeContext) -> NodeCode:
    """Requantisation of every code."""
    source, out = node.inputs[0], node.outputs[0]
    ch, ch_par = node.op.attrs("ch", "ch_par")
    name = f"{node.name}_requant"
    requant = requant_config(node.op.requantiser(), source.codes, name, ch, ch_par)
    constants = {
        **_picture(node),
        "out_bits": out.codes.bits,
        "out_signed": out.codes.signed,
        "total_probe": node.probe_id,
    }
    types = {"in_t": source.token_type, "out_t": out.token_type, "requant": requant.type_name}
    struct = config_struct(node.config, [f"Requantise {_extent(node)}."], constants, types)
    call = f"fr::stream_requant<{node.config}>({node.stream_in()}, {node.stream_out()})"
    return NodeCode(
        node.name,
        [*requant.structs, struct],
        tasks=[TaskCall(node.name, call, "StreamRequant", coefficient("requant_stages"))],
        probes=[picture_probe(node)],
    )


@generates("StreamWidthAdapter", header="width_adapter.hpp")
def adapter_code(node: NodeContext) -> NodeCode:
    """Regrouping of channels and columns."""
    names = ("h", "w", "ch", "in_ch_par", "in_lanes", "out_ch_par", "out_lanes")
    constants: dict[str, Member] = dict(zip(names, node.op.attrs(*names), strict=True))
    types = {"in_t": node.inputs[0].token_type, "out_t": node.outputs[0].token_type}
    doc = [
        f"{constants['in_lanes']} lanes of {constants['in_ch_par']} channels to "
        f"{constants['out_lanes']} lanes of {constants['out_ch_par']}."
    ]
    struct = config_struct(node.config, doc, constants, types)
    call = f"fr::width_adapter<{node.config}>({node.stream_in()}, {node.stream_out()})"
    task = TaskCall(node.name, call, "StreamWidthAdapter", coefficient("adapter_stages"))
    return NodeCode(node.name, [struct], tasks=[task])


def picture_probe(node: NodeContext) -> ProjectProbe:
    """Probe of the value before requantisation."""
    h, w, ch, lanes, ch_par = node.op.attrs("h", "w", "ch", "lanes", "ch_par")
    return ProjectProbe(node.probe_id, node.name, "total", (1, h, w, ch), lanes, ch_par)


def _picture(node: NodeContext) -> dict[str, Member]:
    names = ("h", "w", "ch", "ch_par", "lanes")
    return dict(zip(names, node.op.attrs(*names), strict=True))


def _extent(node: NodeContext) -> str:
    h, w, ch, ch_par = node.op.attrs("h", "w", "ch", "ch_par")
    return f"{h}x{w}x{ch}, {ceil(ch / ch_par)} tokens a pixel"
