"""Nodes that are one module of the library: DMA, width adapter, fork, window buffer, weights."""

from __future__ import annotations

from dataclasses import fields

from finn_resnet.custom_ops.streams import weight_words
from finn_resnet.generation.rtl.elementwise_rtl import LaneTask, add_circuit, requant_circuit
from finn_resnet.generation.rtl.pool_rtl import GlobalPool, pool_circuit
from finn_resnet.generation.rtl.registry import ANY_DEPTH, HELD_DEPTH, RtlNode, generates_rtl
from finn_resnet.generation.rtl.schedule import (
    LaneEnd,
    Step,
    Steps,
    WindowSteps,
    lanes_of,
    picture_steps,
)
from finn_resnet.generation.rtl.stream_steps import (
    adapter_steps,
    input_dma_steps,
    output_dma_steps,
)
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
    steps = input_dma_steps(node)
    return RtlNode("input_dma", parameters, {}, {"out": (0,)}, axi=node.port, schedule=steps)


@generates_rtl("OutputDMA")
def output_dma_rtl(node: NodeContext) -> RtlNode:
    """From the stream to the AXI port."""
    codes = node.inputs[0].codes
    parameters = _dma_parameters(node) | {"BITS": codes.bits, "SIGNED": int(codes.signed)}
    steps = output_dma_steps(node)
    return RtlNode("output_dma", parameters, {"in": 0}, {}, axi=node.port, schedule=steps)


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
    steps = adapter_steps(node)
    return RtlNode("width_adapter", parameters, {"in": 0}, {"out": (0,)}, schedule=steps)


@generates_rtl("StreamFork", _same_width)
def fork_rtl(node: NodeContext) -> RtlNode:
    """Copies."""
    source = node.inputs[0]
    parameters = _upper(node, "w", "lanes", "copies")
    parameters |= {"GROUPS": source.layout.words[2], "WIDTH": source.width_bits}
    outputs = tuple(range(len(node.outputs)))
    h, w, lanes, copies = node.op.attrs("h", "w", "lanes", "copies")
    alike = picture_steps(h, w, lanes, parameters["GROUPS"], ["in"], ["out"])
    row = [
        (n, [(Step(s.reads, _copied(s.writes, lanes, copies)), c) for s, c in block])
        for n, block in alike.row
    ]
    return RtlNode("stream_fork", parameters, {"in": 0}, {"out": outputs}, schedule=Steps(h, row))


def _copied(lanes: tuple[LaneEnd, ...], count: int, copies: int) -> tuple[LaneEnd, ...]:
    """The same lanes of every copy."""
    return tuple((port, copy * count + lane) for copy in range(copies) for port, lane in lanes)


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
    sizes = {field.name: parameters[field.name.upper()] for field in fields(WindowSteps)}
    return RtlNode(
        "window_buffer",
        parameters,
        {"in": 0},
        outputs,
        holds={"window": _WINDOW_DEPTH},
        schedule=WindowSteps(**sizes),
    )


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
    holds = {"out": ANY_DEPTH}
    return RtlNode("parameter_memory", parameters, {}, {"out": (0,)}, holds=holds, files=files)


def _own(task: LaneTask | GlobalPool, inputs: dict[str, int], schedule: Steps) -> RtlNode:
    return RtlNode(
        task.circuit.name,
        {},
        inputs,
        {"out": (0,)},
        holds={"out": HELD_DEPTH},
        text=task.circuit.text(),
        schedule=schedule,
        pipeline={"out": task.pipeline},
    )


def _picture_steps(node: NodeContext, *inputs: str) -> Steps:
    h, w, lanes, ch, ch_par = node.op.attrs("h", "w", "lanes", "ch", "ch_par")
    return picture_steps(h, w, lanes, -(-ch // ch_par), inputs, ["out"])


@generates_rtl("StreamAdd")
def add_rtl(node: NodeContext) -> RtlNode:
    """Residual addition."""
    return _own(add_circuit(node), {"a": 0, "b": 1}, _picture_steps(node, "a", "b"))


@generates_rtl("StreamRequant")
def requant_rtl(node: NodeContext) -> RtlNode:
    """Requantisation."""
    return _own(requant_circuit(node), {"in": 0}, _picture_steps(node, "in"))


def _refused_pool(node: NodeContext) -> list[str]:
    if node.op.get_nodeattr("row_weights"):
        return [
            "row_weights: border windows divide by other numbers, which has no RTL form; use "
            "count_include_pad = 1, no pads, or backend = hls"
        ]
    return []


@generates_rtl("StreamPool", _refused_pool)
def pool_rtl(node: NodeContext) -> RtlNode:
    """Maximum or average."""
    port = "window" if node.op.is_windowed else "in"
    return _own(pool_circuit(node), {port: 0}, _pool_steps(node))


def _pool_steps(node: NodeContext) -> Steps:
    names = ("oh", "ow", "ih", "iw", "ow_par", "ch", "ch_par")
    oh, ow, ih, iw, lanes, ch, ch_par = node.op.attrs(*names)
    groups = -(-ch // ch_par)
    if node.op.is_windowed:
        steps = picture_steps(oh, ow, lanes, groups, [], ["out"])
        row = [(n, [(Step((("window", 0),), s.writes), c) for s, c in b]) for n, b in steps.row]
        return Steps(oh, row)
    # Without the results first; the steps of the last lane group give them.
    frame = picture_steps(ih, iw, lanes, groups, ["in"], []).row
    *whole, (repeat, last) = list(frame) * ih
    final = [(Step(step.reads, lanes_of("out", 1)), count) for step, count in last]
    return Steps(1, [*whole, (repeat - 1, last), (1, final)])
