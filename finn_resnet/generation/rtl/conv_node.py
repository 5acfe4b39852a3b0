"""The circuit of a StreamConv node."""

from __future__ import annotations

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.generation.conv_code import accumulator_ranges
from finn_resnet.generation.rtl.conv_layer import ConvSizes, Multiplication
from finn_resnet.generation.rtl.conv_rtl import Branch, ConvCircuit, ConvLayer, Skip
from finn_resnet.generation.rtl.registry import HELD_DEPTH, RtlNode, generates_rtl, held_depth
from finn_resnet.generation.rtl.schedule import Step, Steps, lanes_of
from finn_resnet.generation.task_code import NodeContext
from finn_resnet.numerics.ranges import Range

LUT_WORDS = 256
"""Words of a weight memory in LUTs at most: a LUT holds 64 bits, deeper ones need multiplexers."""


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
    if node.op.get_nodeattr("mem_mode") == "internal_embedded":
        inputs = {name: index for name, index in inputs.items() if "weights" not in name}
    text, branches = circuit.text, circuit.layer.branches
    return RtlNode(
        circuit.layer.name,
        {},
        inputs,
        {branch.port: (n,) for n, branch in enumerate(branches)},
        holds=dict.fromkeys((branch.port for branch in branches), HELD_DEPTH),
        text=text,
        schedule=_steps(circuit.layer, node.op.get_nodeattr("oh")),
        pipeline={
            branch.port: (latency - 1, depth - branch.depth)
            for branch, latency, depth in zip(
                branches, circuit.latency, circuit.depths, strict=True
            )
        },
    )


def _steps(layer: ConvLayer, rows: int) -> Steps:
    """The iterations of `conv_control`."""
    s, ports = layer.sizes, [branch.port for branch in layer.branches]
    skip_group = {"": -1, "accumulator": 0, "epilogue": s.in_groups - 1}[
        layer.skip.form if layer.skip else ""
    ]

    def block(columns: int) -> list[tuple[Step, int]]:
        found = []
        for group in range(s.in_groups):
            skips = lanes_of("skip", columns) if group == skip_group else ()
            last = group == s.in_groups - 1
            writes = sum((lanes_of(port, columns) for port in ports), ()) if last else ()
            found.append((Step((("window", 0), *skips), writes), 1))
            if s.out_groups > 1:
                found.append((Step(skips, writes), s.out_groups - 1))
        return found

    rest = s.ow - (s.column_groups - 1) * s.ow_par
    return Steps(rows, [(s.column_groups - 1, block(s.ow_par)), (1, block(rest))])


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
    return held_depth(node.outputs[index].depth)
