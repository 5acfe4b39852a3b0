"""Nodes that are one module of the library: DMA, width adapter, fork, window buffer, weights."""

from __future__ import annotations

from finn_resnet.custom_ops.streams import weight_words
from finn_resnet.generation.rtl.circuit import Circuit
from finn_resnet.generation.rtl.elementwise_rtl import add_circuit, requant_circuit
from finn_resnet.generation.rtl.pool_rtl import pool_circuit
from finn_resnet.generation.rtl.registry import RtlNode, generates_rtl
from finn_resnet.generation.task_code import NodeContext


def _upper(node: NodeContext, *names: str) -> dict[str, int]:
    """Attributes as parameters of the same name."""
    return {name.upper(): value for name, value in zip(names, node.op.attrs(*names), strict=True)}


def _dma_parameters(node: NodeContext) -> dict[str, int]:
    return _upper(node, "h", "w", "ch", "ch_par", "lanes", "code_bytes")


@generates_rtl("InputDMA")
def input_dma_rtl(node: NodeContext) -> RtlNode:
    """From the AXI port to the stream."""
    parameters = _dma_parameters(node) | {"BITS": node.outputs[0].codes.bits}
    return RtlNode("input_dma", parameters, {}, {"out": (0,)}, axi=node.port)


@generates_rtl("OutputDMA")
def output_dma_rtl(node: NodeContext) -> RtlNode:
    """From the stream to the AXI port."""
    codes = node.inputs[0].codes
    parameters = _dma_parameters(node) | {"BITS": codes.bits, "SIGNED": int(codes.signed)}
    return RtlNode("output_dma", parameters, {"in": 0}, {}, axi=node.port)


def _same_width(node: NodeContext) -> list[str]:
    """The module passes codes on, so both sides have as many bits."""
    source = node.inputs[0]
    return [
        f"codes of {source.codes.bits} bits enter and leave as {edge.codes.bits} bits (tensors "
        f"{source.tensor!r}, {edge.tensor!r}); give both the same datatype"
        for edge in node.outputs
        if edge is not None and edge.codes.bits != source.codes.bits
    ]


@generates_rtl("StreamWidthAdapter", _same_width)
def adapter_rtl(node: NodeContext) -> RtlNode:
    """Regrouping of channels and columns."""
    names = ("w", "ch", "in_ch_par", "in_lanes", "out_ch_par", "out_lanes")
    parameters = _upper(node, *names) | {"BITS": node.inputs[0].codes.bits}
    return RtlNode("width_adapter", parameters, {"in": 0}, {"out": (0,)})


@generates_rtl("StreamFork", _same_width)
def fork_rtl(node: NodeContext) -> RtlNode:
    """Copies."""
    source = node.inputs[0]
    parameters = _upper(node, "w", "lanes", "copies")
    parameters |= {"GROUPS": source.layout.words[2], "WIDTH": source.width_bits}
    outputs = tuple(range(len(node.outputs)))
    return RtlNode("stream_fork", parameters, {"in": 0}, {"out": outputs})


_WINDOW_DEPTH = 2
"""Windows of a stream that needs no FIFO: the buffer's output registers pass one every cycle."""


def _refused_windows(node: NodeContext) -> list[str]:
    fh, fw, stride, pads, ow_par, ih = node.op.attrs("fh", "fw", "stride", "pads", "ow_par", "ih")
    columns = fw + (ow_par - 1) * stride[1]
    found = _same_width(node)
    if pads[0] >= fh or pads[1] >= columns:
        found.append(f"pads = {pads}: a window lies outside the picture; use backend = hls")
    if ih < fh:
        found.append(f"ih = {ih} is less than fh = {fh}; use backend = hls")
    return found


@generates_rtl("WindowBuffer", _refused_windows)
def window_rtl(node: NodeContext) -> RtlNode:
    """All rows in lock step, whatever the ``buffer_style``: the windows are the same."""
    names = ("ich", "ih", "iw", "oh", "ow", "fh", "fw", "ich_par", "ow_par", "pad_value", "forward")
    stride, pads, link_style = node.op.attrs("stride", "pads", "link_style")
    parameters = _upper(node, *names) | {
        **{"STRIDE_H": stride[0], "STRIDE_W": stride[1], "PAD_TOP": pads[0], "PAD_LEFT": pads[1]},
        **{"IN_LANES": node.op.lanes_in(), "BITS": node.inputs[0].codes.bits},
        "BLOCK": int(link_style == "bram" and _deep(node)),
    }
    outputs = {"window": (0,)} | ({"forward": (1,)} if len(node.outputs) > 1 else {})
    held = ("window",) if node.outputs[0].depth <= _WINDOW_DEPTH else ()
    return RtlNode("window_buffer", parameters, {"in": 0}, outputs, held)


def _deep(node: NodeContext) -> bool:
    """Whether a picture row is long enough for block RAM: more than 64 words of a LUTRAM."""
    _, columns, groups = node.inputs[0].layout.words
    return columns * groups > 64


def _refused_memory(node: NodeContext) -> list[str]:
    if node.op.get_nodeattr("mem_style") == "uram":
        return ["mem_style = uram is not made in RTL yet; use bram, or backend = hls"]
    return []


@generates_rtl("ParameterStream", _refused_memory)
def parameter_rtl(node: NodeContext) -> RtlNode:
    """The memory that streams weights."""
    words = weight_words(node.constant("weights"), *node.op.attrs("och_par", "ich_par"))
    edge = node.outputs[0]
    mask, digits = (1 << edge.codes.bits) - 1, -(-edge.width_bits // 4)
    lines = []
    for word in words.reshape(len(words), -1):
        value = sum((int(w) & mask) << (edge.codes.bits * n) for n, w in enumerate(word))
        lines.append(f"{value:0{digits}x}")
    name = f"{node.name}.mem"
    parameters = {
        **{"WIDTH": edge.width_bits, "WORDS": len(words), "FILE": f'"{name}"'},
        "BLOCK": int(node.op.get_nodeattr("mem_style") == "bram"),
    }
    files = {name: "\n".join(lines) + "\n"}
    return RtlNode("parameter_memory", parameters, {}, {"out": (0,)}, held=("out",), files=files)


def _own(circuit: Circuit, inputs: dict[str, int]) -> RtlNode:
    return RtlNode(circuit.name, {}, inputs, {"out": (0,)}, held=("out",), text=circuit.text())


@generates_rtl("StreamAdd")
def add_rtl(node: NodeContext) -> RtlNode:
    """Residual addition."""
    return _own(add_circuit(node), {"a": 0, "b": 1})


@generates_rtl("StreamRequant")
def requant_rtl(node: NodeContext) -> RtlNode:
    """Requantisation."""
    return _own(requant_circuit(node), {"in": 0})


@generates_rtl("StreamPool")
def pool_rtl(node: NodeContext) -> RtlNode:
    """Maximum or average."""
    return _own(pool_circuit(node), {"window" if node.op.is_windowed else "in": 0})
