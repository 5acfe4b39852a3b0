"""Skip buffers of a hardware graph, sized by the paper's formulas (eq. 22-27).

The skip data of a residual block waits, in one stream, for the long branch. How long depends on
where that stream starts:

* at a fork, before the block's first convolution: ``[iw0 (rh0 - 1) + rw0] ich0`` codes, with the
  receptive field ``rh0 = fh1 + fh0 - 1`` of the long branch's windows (strides are not counted);
* behind a window buffer or a merged downsample: ``[(fh1 - 1) iw1 + fw1 - 1] ich1``, and the columns
  that a buffer built of rows keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.transformation.graph_edit import as_op, nodes_of

_PASS_THROUGH = ("StreamRequant", "StreamWidthAdapter")


@dataclass(frozen=True)
class SkipBuffer:
    """One skip stream and the storage the paper's formula gives it.

    ``pixels`` positions of ``channels`` codes of ``bits`` bits; ``output`` is the stream's index
    among the outputs of ``origin``.
    """

    join: str
    origin: str
    output: int
    tensor: str
    pixels: int
    channels: int
    bits: int

    @property
    def codes(self) -> int:
        """Codes held: the paper's buffer size B."""
        return self.pixels * self.channels

    @property
    def total_bits(self) -> int:
        """Storage in bits."""
        return self.codes * self.bits


def skip_buffers(model: ModelWrapper) -> list[SkipBuffer]:
    """The skip buffer of every residual join, in graph order."""
    found = []
    for node in nodes_of(model, "StreamAdd", "StreamConv"):
        pair = _operands(model, node)
        if pair is not None:
            buffer = _buffer(model, node, *pair)
            if buffer is not None:
                found.append(buffer)
    return found


def skip_tensors(model: ModelWrapper) -> set[str]:
    """Every tensor of a residual branch, from where its data starts to wait to the join."""
    found: set[str] = set()
    for join in nodes_of(model, "StreamAdd", "StreamConv"):
        pair = _operands(model, join)
        if pair is not None:
            found.update(_skip_path(model, pair[0]))
    return found


def _operands(model: ModelWrapper, join: NodeProto) -> tuple[str, str] | None:
    """(skip tensor, long tensor) of a join, None where the node joins nothing."""
    if join.op_type == "StreamConv":
        return (join.input[-1], join.input[0]) if as_op(join).has_skip else None
    depths = [len(_windows_to(model, tensor, None)) for tensor in join.input]
    if depths[0] == depths[1]:
        return None
    skip = int(depths[0] > depths[1])
    return join.input[skip], join.input[1 - skip]


def _buffer(model: ModelWrapper, join: NodeProto, skip: str, long: str) -> SkipBuffer | None:
    tensor, origin = _origin(model, skip)
    windows = _windows_to(model, long, origin)
    rows = 1 + sum(as_op(w).get_nodeattr("fh") - 1 for w in windows)
    columns = 1 + sum(as_op(w).get_nodeattr("fw") - 1 for w in windows)
    _, _, width, channels = model.get_tensor_shape(tensor)
    pixels = width * (rows - 1) + columns
    if origin.op_type != "StreamFork":
        pixels -= 1
    if origin.op_type == "WindowBuffer" and as_op(origin).get_nodeattr("buffer_style") == "rows":
        # The oldest row forwards what it takes in, not what it is done with.
        row = as_op(origin).row_window()
        pixels += row.history * row.in_lanes
    if pixels < 1:
        return None
    return SkipBuffer(
        join=join.name,
        origin=origin.name,
        output=list(origin.output).index(tensor),
        tensor=tensor,
        pixels=pixels,
        channels=channels,
        bits=model.get_tensor_datatype(tensor).bitwidth(),
    )


def _origin(model: ModelWrapper, tensor: str) -> tuple[str, NodeProto]:
    """Where the skip stream starts: fork, forwarding window buffer, merged downsample, source."""
    start = _skip_path(model, tensor)[-1]
    return start, model.find_producer(start)


def _skip_path(model: ModelWrapper, tensor: str) -> list[str]:
    """Tensors from the join's operand ``tensor`` back to where the skip stream starts.

    A separate 1x1 convolution on the way is no start: the data waits at the fork before it.
    """
    path = [tensor]
    while True:
        node = model.find_producer(path[-1])
        op = as_op(node)
        passed = (
            node.op_type in _PASS_THROUGH
            or (node.op_type == "WindowBuffer" and not op.get_nodeattr("forward"))
            or (node.op_type == "StreamConv" and not op.has_downsample)
        )
        if not passed:
            return path
        path.append(node.input[0])


def _windows_to(model: ModelWrapper, tensor: str, origin: NodeProto | None) -> list[NodeProto]:
    """Window buffers from ``tensor`` back along the long branch to ``origin`` (or the input).

    ``origin`` itself is not counted: a forwarding buffer's data has already passed it.
    """
    windows = []
    node = model.find_producer(tensor)
    while node is not None and node != origin:
        if node.op_type == "WindowBuffer":
            windows.append(node)
        node = model.find_producer(_long_input(model, node))
    return windows


def _long_input(model: ModelWrapper, node: NodeProto) -> str:
    if node.op_type != "StreamAdd":
        return node.input[0]
    return max(node.input, key=lambda tensor: len(_windows_to(model, tensor, None)))
