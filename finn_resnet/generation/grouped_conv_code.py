"""Code of a StreamGroupedConv: its groups share the widths and chains of the widest."""

from __future__ import annotations

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.generation.config_struct import Member, config_struct, table_member
from finn_resnet.generation.conv_code import (
    Factors,
    add_task,
    mac_constants,
    memory_types,
    probes,
)
from finn_resnet.generation.cpp import grouped, signed_bits
from finn_resnet.generation.registry import generates
from finn_resnet.generation.requant_config import requant_config
from finn_resnet.generation.task_code import NodeCode, NodeContext
from finn_resnet.numerics.ranges import Range

_ROLES = ("window", "weights", "out")
"""Parameters of fr::grouped_conv in order."""


@generates("StreamGroupedConv", header="grouped_conv.hpp")
def grouped_conv_code(node: NodeContext) -> NodeCode:
    """Config struct, task and probe."""
    op, code = node.op, NodeCode(node.name)
    och, och_par = op.attrs("och", "och_par")
    codes = op.input_range().including(0)
    acc = accumulator_range(node.constant("weights"), node.constant("bias"), codes)
    requant = requant_config(op.requantiser(), acc, f"{node.name}_requant", och, och_par)
    constants, types = _constants(node, acc)
    types |= {
        **node.window_types(),
        "weights_t": node.edge("weights").token_type,
        "out_t": node.outputs[0].token_type,
        "skip_t": node.outputs[0].token_type,
        "requant": requant.type_name,
        **memory_types(node, "weights"),
    }
    doc = _doc(node)
    code.structs = [*requant.structs, config_struct(node.config, [doc], constants, types)]
    add_task(node, constants, code, doc, "fr::grouped_conv", _ROLES)
    code.probes = probes(node)
    return code


def _doc(node: NodeContext) -> str:
    names = ("ich", "och", "ih", "iw", "oh", "ow", "fh", "fw", "group")
    ich, och, ih, iw, oh, ow, fh, fw, group = node.op.attrs(*names)
    size = f"{ih}x{iw}x{ich} to {oh}x{ow}x{och}"
    return f"Grouped convolution {fh}x{fw}: {size}, {group} groups."


def _constants(node: NodeContext, acc: Range) -> tuple[dict[str, Member], dict[str, str]]:
    op = node.op
    group = Factors(op.per, op.part, op.get_nodeattr("ow_par"))
    dsp, chain = op.get_nodeattr("mac_style") == "dsp", op.get_nodeattr("chain")
    mac, types = mac_constants(
        node.constant("weights"), op.input_range(), group, dsp=dsp, chain=chain
    )
    out, och_par = node.outputs[0].codes, op.get_nodeattr("och_par")
    names = ("och", "och_par", "oh", "ow", "fh", "fw", "ow_par")
    constants: dict[str, Member] = {
        **dict(zip(names, op.attrs(*names), strict=True)),
        "group_ich": op.part,
        "group_och": op.per,
        "stride_w": op.get_nodeattr("stride")[1],
        **mac,
        "skip": "fr::skip_form = fr::skip_form::none",
        "product_shift": 0,
        "acc_bits": signed_bits(acc.including(0)),
        "total_bits": signed_bits(acc.including(0)),
        "out_bits": out.bits,
        "out_signed": out.signed,
        "total_probe": node.probe_id,
        "acc_probe": node.probe_id + 1,
        "bias": table_member(grouped(node.constant("bias").reshape(-1), och_par)),
    }
    return constants, types
