"""Code of a StreamConv: exact accumulator widths, packed chains, requantisers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.generation.config_struct import Member, config_struct, table_member
from finn_resnet.generation.cpp import array_range, code_type, grouped, signed_bits
from finn_resnet.generation.parameter_code import memory_type
from finn_resnet.generation.project_file import ProjectProbe
from finn_resnet.generation.registry import generates
from finn_resnet.generation.requant_config import requant_config
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall
from finn_resnet.generation.templates import render
from finn_resnet.numerics.dsp_packing import UNPACKED, chain_ends, packing_of, tap_order
from finn_resnet.numerics.ranges import Range
from finn_resnet.parallelism.coefficients import coefficient

_ROLES = ("window", "weights", "skip", "ds_weights", "out", "ds_out")
"""Parameters of fr::conv in order."""
_LONGEST_CASCADE = 16  # kLongestCascade of mac.hpp


class Factors(NamedTuple):
    """Unroll factors of a convolution."""

    och_par: int
    ich_par: int
    ow_par: int

    @classmethod
    def of(cls, node: NodeContext) -> Factors:
        """Those of a StreamConv."""
        return cls(*node.op.attrs(*cls._fields))


@generates("StreamConv", header="conv.hpp")
def conv_code(node: NodeContext) -> NodeCode:
    """Config struct(s), task and probes of a convolution."""
    op = node.op
    code = NodeCode(node.name)
    merged = op.has_downsample
    downsample = f"{node.name}_ds_config"
    if merged:
        code.structs += _downsample_structs(node, downsample)
    requants = _requantisers(node)
    for config in requants.values():
        code.structs += config.structs
    constants, mac_types = _constants(node)
    weights, out = node.edge("weights"), node.outputs[0]
    types = {
        **node.window_types(),
        "weights_t": weights.token_type,
        "out_t": out.token_type,
        "skip_t": node.edge("skip").token_type if op.has_skip else out.token_type,
        **mac_types,
        **{name: config.type_name for name, config in requants.items()},
        "ds": downsample if merged else "fr::no_downsample",
        **memory_types(node, "weights"),
    }
    code.structs.append(config_struct(node.config, _doc(node), constants, types))
    add_task(node, constants, code, _doc(node)[0], "fr::conv", _ROLES)
    code.probes = probes(node)
    return code


def memory_types(node: NodeContext, operand: str) -> dict[str, str]:
    """The memory behind the weights ``operand``, if it lies in the task."""
    if node.op.get_nodeattr("mem_mode") == "internal_embedded":
        return {"memory": memory_type(node.edge(operand).node)}
    return {}


def _doc(node: NodeContext) -> list[str]:
    names = ("ich", "och", "ih", "iw", "oh", "ow", "fh", "fw")
    ich, och, ih, iw, oh, ow, fh, fw = node.op.attrs(*names)
    return [f"Convolution {fh}x{fw}: {ih}x{iw}x{ich} to {oh}x{ow}x{och}."]


def _requantisers(node: NodeContext) -> dict:
    op = node.op
    och, och_par, ich, ich_par = op.attrs("och", "och_par", "ich", "ich_par")
    acc, total = accumulator_ranges(node)
    inputs = {
        "in_requant": (node.inputs[0].codes, ich, ich_par),
        "requant": (total, och, och_par),
    }
    if op.get_nodeattr("skip") == "epilogue":
        inputs["pre_requant"] = (acc, och, och_par)
    return {
        name: requant_config(op.requantiser(name), codes, f"{node.name}_{name}", channels, entries)
        for name, (codes, channels, entries) in inputs.items()
    }


def accumulator_ranges(node: NodeContext) -> tuple[Range, Range]:
    """Exact ranges of ``acc`` and ``total``, partial sums included."""
    op = node.op
    codes = op.input_range().including(0)
    acc = accumulator_range(node.constant("weights"), node.constant("bias"), codes)
    skip = node.edge("skip").codes.including(0) if op.has_skip else None
    return acc, op.total_range(acc, skip)


def mac_constants(
    weights: np.ndarray, codes: Range, factors: Factors, *, dsp: bool, chain: int = 0
) -> tuple[dict[str, Member], dict[str, str]]:
    """Members and types that mac.hpp asks for.

    Args:
        weights: integers ``[och, fh, fw, ich]``.
        codes: range of the activations at the multiplier.
        factors: unroll factors of the convolution.
        dsp: whether products go to DSPs, packed where the operands fit.
        chain: taps in a cascade of DSPs at most (0: as many as their sums allow).
    """
    rows = tap_order(weights, factors.ich_par)
    packing = packing_of(array_range(rows), codes) if dsp else UNPACKED
    ends = chain_ends(rows, codes, packing, 0 if packing == UNPACKED else chain)
    flat = rows.reshape(-1, 1, 1, rows.shape[-1])
    sums = accumulator_range(flat, np.zeros(len(flat), np.int64), codes.including(0))
    constants: dict[str, Member] = {
        "port_operands": packing.port_operands,
        "field_bits": packing.field_bits,
        "column_group": packing.column_group(factors.och_par, factors.ow_par),
        "use_dsp": dsp,
        "chains": len(ends),
        "chain_end": list(ends),
        "sum_bits": signed_bits(sums),
    }
    return constants, {"mac_in_t": code_type(codes.including(0))}


def _constants(node: NodeContext) -> tuple[dict[str, Member], dict[str, str]]:
    op = node.op
    acc, total = accumulator_ranges(node)
    form = op.get_nodeattr("skip")
    acc_factor, skip_factor = op.join_factors()
    factors = Factors.of(node)
    dsp = op.get_nodeattr("mac_style") == "dsp"
    weights, chain = node.constant("weights"), op.get_nodeattr("chain")
    mac, types = mac_constants(weights, op.input_range(), factors, dsp=dsp, chain=chain)
    kept = total if form == "accumulator" else acc
    out = node.outputs[0].codes
    names = ("ich", "och", "oh", "ow", "fh", "fw")
    constants: dict[str, Member] = {
        **dict(zip(names, op.attrs(*names), strict=True)),
        "stride_w": op.get_nodeattr("stride")[1],
        **factors._asdict(),
        **mac,
        "skip": f"fr::skip_form = fr::skip_form::{form}",
        "acc_factor": acc_factor,
        "skip_factor": skip_factor,
        "product_shift": op.get_nodeattr("acc_shift") if form == "accumulator" else 0,
        "acc_bits": signed_bits(kept.including(0)),
        "total_bits": signed_bits(total.including(0)),
        "out_bits": out.bits,
        "out_signed": out.signed,
        "total_probe": node.probe_id,
        "acc_probe": node.probe_id + 1,
        "bias": table_member(grouped(node.constant("bias").reshape(-1), factors.och_par)),
    }
    return constants, types


def _downsample_structs(node: NodeContext, name: str) -> list[str]:
    op = node.op
    weights, bias = node.constant("ds_weights"), node.constant("ds_bias")
    out = node.outputs[1]
    och, och_par, ich, ich_par = op.attrs("och", "och_par", "ich", "ich_par")
    codes = op.ds_input_range()
    dsp = op.get_nodeattr("mac_style") == "dsp"
    chain = op.get_nodeattr("chain")
    mac, types = mac_constants(weights, codes, Factors.of(node), dsp=dsp, chain=chain)
    acc = accumulator_range(weights, bias, codes.including(0))
    before = requant_config(
        op.requantiser("ds_in_requant"),
        node.inputs[0].codes,
        f"{node.name}_ds_in_requant",
        ich,
        ich_par,
    )
    after = requant_config(
        op.requantiser("ds_requant"), acc, f"{node.name}_ds_requant", och, och_par
    )
    row, column = op.get_nodeattr("ds_tap")
    constants: dict[str, Member] = {
        "merged": True,
        "row": row,
        "column": column,
        **mac,
        "product_shift": 0,
        "acc_bits": signed_bits(acc.including(0)),
        "out_bits": out.codes.bits,
        "out_signed": out.codes.signed,
        "acc_probe": node.probe_id + 2,
        "bias": table_member(grouped(bias.reshape(-1), och_par)),
    }
    types |= {
        "weights_t": node.edge("ds_weights").token_type,
        "out_t": out.token_type,
        "in_requant": before.type_name,
        "requant": after.type_name,
        **memory_types(node, "ds_weights"),
    }
    doc = [f"The 1x1 convolution merged into {node.name}: {ich} to {och} channels."]
    return [*before.structs, *after.structs, config_struct(name, doc, constants, types)]


@dataclass(frozen=True)
class _Port:
    """A stream of the task: what it carries, its C++ type and the expression it is called with."""

    role: str
    token_type: str
    lanes: int
    stream: str


def _ports(node: NodeContext) -> list[_Port]:
    """The streams of a convolution in the order of its call."""
    op = node.op
    inputs = ["window"]
    if op.get_nodeattr("mem_mode") != "internal_embedded":
        inputs += ["weights", "ds_weights"] if op.has_downsample else ["weights"]
    if op.has_skip:
        inputs.append("skip")
    outputs = {"out": 0, "ds_out": 1} if op.has_downsample else {"out": 0}
    found = [(role, node.edge(role), node.stream_in(role)) for role in inputs]
    found += [(role, node.outputs[i], node.stream_out(i)) for role, i in outputs.items()]
    return [_Port(role, edge.token_type, edge.layout.lanes, name) for role, edge, name in found]


def add_task(
    node: NodeContext,
    constants: dict[str, Member],
    code: NodeCode,
    doc: str,
    function: str,
    roles: tuple[str, ...],
) -> None:
    """Add the task and the function that hands ``function`` of the library its streams by role."""
    ports = _ports(node)
    code.functions.append(
        render(
            "conv",
            doc=doc,
            name=node.name,
            function=function,
            ports=ports,
            roles=roles,
            absent=set(roles) - {port.role for port in ports},
        )
    )
    call = f"{node.name}_task({', '.join(port.stream for port in ports)})"
    depth = pipeline_depth(constants)
    code.tasks.append(TaskCall(node.name, call, node.op.onnx_node.op_type, depth))


def pipeline_depth(constants: dict[str, Any]) -> int:
    """Modelled stages: operand registers, cascade or adder tree, accumulate, requantise, write."""
    ends = [0, *constants["chain_end"]]
    longest = max(b - a for a, b in pairwise(ends))
    if not constants["use_dsp"]:
        tree = ceil(log2(longest)) + coefficient("multiplier_stages")
    elif constants["port_operands"] > 1:
        tree = longest
    else:
        joins = max(ceil(log2(longest / _LONGEST_CASCADE)), 0)
        tree = ceil(longest / 2**joins) + joins
    around = coefficient("conv_operand_stages") + coefficient("conv_result_stages")
    return around + tree + ceil(log2(constants["chains"]))


def probes(node: NodeContext) -> list[ProjectProbe]:
    """Probes of the values before requantisation."""
    op = node.op
    oh, ow, och, lanes, ch_par = op.attrs("oh", "ow", "och", "ow_par", "och_par")
    kinds = {"total": True, "acc": op.skip_form == "epilogue", "ds": op.has_downsample}
    return [
        ProjectProbe(node.probe_id + offset, node.name, kind, (1, oh, ow, och), lanes, ch_par)
        for offset, (kind, present) in enumerate(kinds.items())
        if present
    ]
