"""The circuit of a StreamConv node."""

from __future__ import annotations

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.generation.conv_code import accumulator_ranges
from finn_resnet.generation.rtl.conv_layer import ConvSizes, Multiplication
from finn_resnet.generation.rtl.conv_rtl import Branch, ConvCircuit, ConvLayer, Skip
from finn_resnet.generation.rtl.registry import RtlNode, generates_rtl
from finn_resnet.generation.task_code import NodeContext
from finn_resnet.numerics.ranges import Range

LUT_WORDS = 256
"""Words of a weight memory in LUTs at most: a LUT holds 64 bits, deeper ones need multiplexers."""
HELD_DEPTH = 16
"""Tokens of an output stream that the convolution holds itself; a FIFO follows for more."""


def conv_circuit(
    node: NodeContext, mem_style: str = "", lut_tiles: int | None = None
) -> ConvCircuit:
    """Module of a StreamConv.

    Args:
        node: the node with its edges and constants.
        mem_style: memory of embedded weights, lut or bram; "": by the number of words.
        lut_tiles: so many of the multipliers' tiles in LUTs; None: all or none, by ``mac_style``.
    """
    sizes = ConvSizes(*node.op.attrs("ich", "och", "ow", "fh", "fw"), *_factors(node))
    mem_style = mem_style or ("bram" if sizes.words > LUT_WORDS else "lut")
    branches = [_convolution(node, sizes, mem_style, lut_tiles)]
    if node.op.has_downsample:
        branches.append(_downsample(node, sizes, mem_style, lut_tiles))
    layer = ConvLayer(f"{node.name}_rtl", sizes, node.inputs[0].codes, tuple(branches))
    return ConvCircuit(layer)


@generates_rtl("StreamConv")
def conv_rtl(node: NodeContext) -> RtlNode:
    """The convolution; its outputs hold their stream's tokens themselves where these are few."""
    circuit = conv_circuit(node)
    inputs = {
        operand: node.op.index_of(operand)
        for operand in ("window", "weights", "ds_weights", "skip")
        if operand in node.op.operands()
    }
    ports = zip(circuit.layer.branches, node.outputs, strict=True)
    if node.op.get_nodeattr("mem_mode") == "internal_embedded":
        inputs = {name: index for name, index in inputs.items() if "weights" not in name}
    return RtlNode(
        circuit.layer.name,
        {},
        inputs,
        {branch.port: (n,) for n, branch in enumerate(circuit.layer.branches)},
        held=tuple(branch.port for branch, edge in ports if edge.depth <= HELD_DEPTH),
        text=circuit.text,
    )


def _factors(node: NodeContext) -> tuple[int, ...]:
    stride_w = node.op.get_nodeattr("stride")[1]
    return (stride_w, *node.op.attrs("och_par", "ich_par", "ow_par"))


def _lut(node: NodeContext, lut_tiles: int | None) -> int | None:
    if lut_tiles is None:
        return None if node.op.get_nodeattr("mac_style") == "lut" else 0
    return lut_tiles


def _weights(node: NodeContext, operand: str, mem_style: str) -> Range | str:
    """Range of the codes of a weights port, or the memory's style."""
    embedded = node.op.get_nodeattr("mem_mode") == "internal_embedded"
    return mem_style if embedded else node.edge(operand).codes


def _skip(node: NodeContext) -> Skip | None:
    if not node.op.has_skip:
        return None
    factors = node.op.attrs("acc_shift", "skip_shift", "acc_mult", "skip_mult")
    return Skip(node.op.get_nodeattr("skip"), node.edge("skip").codes, *factors)


def _convolution(
    node: NodeContext, sizes: ConvSizes, mem_style: str, lut_tiles: int | None
) -> Branch:
    op, skip = node.op, _skip(node)
    acc, total = accumulator_ranges(node)
    epilogue = skip is not None and skip.form == "epilogue"
    joins = skip is not None and not epilogue
    mac = Multiplication(
        sizes=sizes,
        weights=node.constant("weights"),
        bias=node.constant("bias").reshape(-1),
        codes=op.input_range(),
        in_requant=op.requantiser("in_requant"),
        tap=(0, 0),
        requant=op.requantiser("pre_requant" if epilogue else "requant"),
        sum_shift=skip.acc_shift if joins else 0,
        lut_tiles=_lut(node, lut_tiles),
    )
    weights = _weights(node, "weights", mem_style)
    out = node.outputs[0].codes
    requant, depth = op.requantiser("requant"), _own_depth(node, 0)
    return Branch("out", mac, weights, acc, total, requant, out, depth, skip)


def _downsample(
    node: NodeContext, sizes: ConvSizes, mem_style: str, lut_tiles: int | None
) -> Branch:
    op = node.op
    weights, bias = node.constant("ds_weights"), node.constant("ds_bias").reshape(-1)
    acc = accumulator_range(weights, bias, op.ds_input_range().including(0))
    mac = Multiplication(
        sizes=sizes,
        weights=weights,
        bias=bias,
        codes=op.ds_input_range(),
        in_requant=op.requantiser("ds_in_requant"),
        tap=tuple(op.get_nodeattr("ds_tap")),
        requant=op.requantiser("ds_requant"),
        lut_tiles=_lut(node, lut_tiles),
    )
    port = _weights(node, "ds_weights", mem_style)
    out, depth = node.outputs[1].codes, _own_depth(node, 1)
    return Branch("ds_out", mac, port, acc, acc, mac.requant, out, depth)


def _own_depth(node: NodeContext, index: int) -> int:
    """Tokens an output holds beyond those on their way."""
    depth = node.outputs[index].depth
    return depth if depth <= HELD_DEPTH else 0
