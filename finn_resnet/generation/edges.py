"""The streams between nodes: one edge per tensor, with its token layout on the producer's side."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops import WindowBuffer
from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.streams import BeatStream, Stream
from finn_resnet.errors import UserError
from finn_resnet.generation.cpp import code_type
from finn_resnet.generation.window_chain import WindowShape
from finn_resnet.numerics.ranges import Range
from finn_resnet.transformation.graph_edit import code_range
from finn_resnet.transformation.skip_buffers import skip_tensors


@dataclass(frozen=True)
class Edge:
    """A tensor between two hardware nodes.

    ``stream`` is the C++ name of the stream (array), ``layout`` what it carries, ``depth`` in
    tokens per lane, ``output`` the index of the tensor among its producer's outputs.
    """

    tensor: str
    node: str
    output: int
    stream: str
    layout: Stream
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
        return prod(self.layout.token) * self.codes.bits


def window_shape(op: WindowBuffer) -> WindowShape:
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


def collect_edges(model: ModelWrapper, ops: list[HardwareOp]) -> dict[str, Edge]:
    """Edges between the hardware nodes ``ops`` (topological order), by tensor.

    Raises:
        UserError: two neighbours disagree on lanes or channel parallelism.
        ValueError: a tensor has no shape, no integer datatype or not exactly one consumer.
    """
    skips = skip_tensors(model)
    by_name = {op.onnx_node.name: op for op in ops}
    edges: dict[str, Edge] = {}
    for op in ops:
        node = op.onnx_node
        written = zip(node.output, op.results(), op.output_streams(), op.depths(), strict=True)
        for output, (tensor, result, stream, depth) in enumerate(written):
            if isinstance(stream, BeatStream):
                continue
            _check_consumer(model, by_name, node, tensor, stream)
            shape = model.get_tensor_shape(tensor)
            if shape is None:
                raise ValueError(f"tensor {tensor!r} has no shape")
            edges[tensor] = Edge(
                tensor=tensor,
                node=node.name,
                output=output,
                stream=_unused(f"{node.name}_{result}", edges),
                layout=stream,
                codes=_integer_range(model, tensor),
                shape=tuple(shape),
                depth=depth,
                kind="skip" if tensor in skips and stream.kind == "activation" else stream.kind,
            )
    return edges


def _check_consumer(
    model: ModelWrapper, ops: dict[str, HardwareOp], node: NodeProto, tensor: str, stream: Stream
) -> None:
    consumers = model.find_consumers(tensor)
    if len(consumers) != 1:
        raise ValueError(
            f"tensor {tensor!r} has {len(consumers)} consumers; a stream has one reader "
            "(a StreamFork copies it)"
        )
    consumer = consumers[0]
    wanted = ops[consumer.name].input_streams()[list(consumer.input).index(tensor)]
    if wanted != stream:
        raise UserError(
            f"{node.name} writes {stream} but {consumer.name} reads {wanted or 'no stream'}: give "
            "both the same factors or insert a StreamWidthAdapter"
        )
