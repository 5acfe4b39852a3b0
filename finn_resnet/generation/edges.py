"""The streams between nodes: one edge per tensor, with its token layout on the producer's side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.window import window_columns
from finn_resnet.errors import UserError
from finn_resnet.generation.cpp import code_type
from finn_resnet.generation.window_chain import WindowShape
from finn_resnet.numerics.ranges import Range
from finn_resnet.transformation.graph_edit import code_range
from finn_resnet.transformation.skip_buffers import skip_tensors
from finn_resnet.transformation.stream_profile import input_profile, output_profile

HOST_OPS = ("QuantizeInput", "DequantizeOutput")


@dataclass(frozen=True)
class Layout:
    """How a tensor travels: ``lanes`` streams (0: one plain stream) of ``token`` entries each.

    ``token`` holds the extents of a token, slowest first: ``(codes,)`` or, for weights,
    ``(och_par, ich_par * fh * fw)``.
    """

    lanes: int
    token: tuple[int, ...]


@dataclass(frozen=True)
class Edge:
    """A tensor between two hardware nodes.

    ``stream`` is the C++ name of the stream (array), ``depth`` in tokens per lane, ``output`` the
    index of the tensor among its producer's outputs.
    """

    tensor: str
    node: str
    output: int
    stream: str
    layout: Layout
    codes: Range
    shape: tuple[int, ...]
    depth: int
    kind: str

    @property
    def token_type(self) -> str:
        """Alias of the token type in config.hpp."""
        return f"{self.stream}_t"

    @property
    def token_cpp(self) -> str:
        """The token type itself."""
        name = "fr::token" if len(self.layout.token) == 1 else "fr::matrix_token"
        return f"{name}<{code_type(self.codes)}, {', '.join(map(str, self.layout.token))}>"

    @property
    def width_bits(self) -> int:
        """Width of a token in hardware."""
        entries = 1
        for extent in self.layout.token:
            entries *= extent
        return entries * self.codes.bits


def window_shape(op: Any) -> WindowShape:
    """Window geometry of a WindowBuffer custom op."""
    names = ("ich", "ih", "iw", "oh", "ow", "fh", "fw")
    stride, pads, ich_par, ow_par = op.attrs("stride", "pads", "ich_par", "ow_par")
    return WindowShape(
        *op.attrs(*names),
        stride=tuple(stride),
        pads=tuple(pads),
        ich_par=ich_par,
        ow_par=ow_par,
        in_lanes=op.lanes_in(),
        forward=bool(op.get_nodeattr("forward")),
    )


def _window_layout(op: Any) -> Layout:
    """Window edge: one stream of windows, or with ``buffer_style`` rows a stream for each row."""
    fh, fw, stride, ow_par = op.attrs("fh", "fw", "stride", "ow_par")
    codes = op.get_nodeattr("ch_par" if op.onnx_node.op_type == "StreamPool" else "ich_par")
    row_codes = window_columns(fw, ow_par, stride[1]) * codes
    if op.get_nodeattr("buffer_style") == "rows":
        return Layout(fh, (row_codes,))
    return Layout(0, (fh * row_codes,))


def _weights_layout(op: Any, taps: int) -> Layout:
    och_par, ich_par = op.attrs("och_par", "ich_par")
    return Layout(0, (och_par, ich_par * taps))


def input_layout(op: Any, index: int) -> Layout | None:
    """Layout the node reads at input ``index``; None where it reads no stream."""
    node = op.onnx_node
    profile = input_profile(node, index)
    if profile is not None:
        return Layout(profile.lanes, (profile.ch_par,))
    if node.op_type in ("StreamConv", "StreamPool") and index == 0:
        return _window_layout(op)
    if node.op_type == "StreamConv" and index == 1:
        return _weights_layout(op, op.get_nodeattr("fh") * op.get_nodeattr("fw"))
    if node.op_type == "StreamConv" and index == 3:
        return _weights_layout(op, 1)
    return None


def output_layout(op: Any, index: int) -> Layout:
    """Layout the node writes at output ``index``."""
    profile = output_profile(op.onnx_node, index)
    if profile is not None:
        return Layout(profile.lanes, (profile.ch_par,))
    if op.onnx_node.op_type == "ParameterStream":
        return _weights_layout(op, op.get_nodeattr("fh") * op.get_nodeattr("fw"))
    return _window_layout(op)


def _stream_name(node: NodeProto, output: int) -> str:
    if node.op_type == "WindowBuffer":
        return f"{node.name}_{('window', 'forward')[output]}"
    if node.op_type == "StreamConv":
        return f"{node.name}_{('out', 'ds_out')[output]}"
    if node.op_type == "ParameterStream":
        return f"{node.name}_stream"
    return f"{node.name}_out{output}" if node.op_type == "StreamFork" else f"{node.name}_out"


def _unused(name: str, edges: dict[str, Edge]) -> str:
    """The name, with underscores appended until no other stream has it."""
    taken = {edge.stream for edge in edges.values()}
    while name in taken:
        name += "_"
    return name


def _integer_range(model: ModelWrapper, tensor: str) -> Range:
    datatype = model.get_tensor_datatype(tensor)
    if not datatype.is_integer():
        raise ValueError(f"tensor {tensor!r} has no integer datatype, found {datatype.name}")
    return code_range(model, tensor)


_KINDS = {"ParameterStream": "parameter"}


def collect_edges(model: ModelWrapper, ops: list[Any]) -> dict[str, Edge]:
    """Edges between the hardware nodes ``ops`` (topological order), by tensor.

    Raises:
        UserError: two neighbours disagree on lanes or channel parallelism.
        ValueError: a tensor has no shape, no integer datatype or not exactly one consumer.
    """
    skips = skip_tensors(model)
    by_name = {op.onnx_node.name: op for op in ops}
    edges = {}
    for op in ops:
        node = op.onnx_node
        if node.op_type == "OutputDMA":
            continue
        for output, tensor in enumerate(node.output):
            layout = output_layout(op, output)
            _check_consumer(model, by_name, node, tensor, layout)
            kind = _KINDS.get(node.op_type, "skip" if tensor in skips else "activation")
            if node.op_type == "WindowBuffer" and output == 0:
                kind = "window"
            shape = model.get_tensor_shape(tensor)
            if shape is None:
                raise ValueError(f"tensor {tensor!r} has no shape")
            edges[tensor] = Edge(
                tensor=tensor,
                node=node.name,
                output=output,
                stream=_unused(_stream_name(node, output), edges),
                layout=layout,
                codes=_integer_range(model, tensor),
                shape=tuple(shape),
                depth=op.depths()[output],
                kind=kind,
            )
    return edges


def _check_consumer(
    model: ModelWrapper, ops: dict[str, Any], node: NodeProto, tensor: str, layout: Layout
) -> None:
    consumers = model.find_consumers(tensor)
    if len(consumers) != 1:
        raise ValueError(
            f"tensor {tensor!r} has {len(consumers)} consumers; a stream has one reader "
            "(a StreamFork copies it)"
        )
    consumer = consumers[0]
    wanted = input_layout(ops[consumer.name], list(consumer.input).index(tensor))
    if wanted != layout:
        raise UserError(
            f"{node.name} writes {_describe(layout)} but {consumer.name} reads "
            f"{_describe(wanted)}: give both the same factors or insert a StreamWidthAdapter"
        )


def _describe(layout: Layout | None) -> str:
    if layout is None:
        return "no stream"
    codes = "x".join(map(str, layout.token))
    return f"{max(layout.lanes, 1)} lanes of {codes} codes"
