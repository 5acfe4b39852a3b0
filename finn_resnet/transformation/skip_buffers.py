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

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops import StreamFork, WindowBuffer
from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.streams import PictureStream, WindowStream
from finn_resnet.transformation.graph_edit import hardware_ops


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
    graph = _Branches(model)
    buffers = [_buffer(model, graph, op, *pair) for op, pair in graph.joins()]
    return [buffer for buffer in buffers if buffer is not None]


def skip_tensors(model: ModelWrapper) -> set[str]:
    """Every tensor of a residual branch, from where its data starts to wait to the join."""
    graph = _Branches(model)
    return {tensor for _, (skip, _) in graph.joins() for tensor in graph.skip_path(skip)}


class _Branches:
    """Walks back along the branches of a graph, every node looked at once."""

    def __init__(self, model: ModelWrapper) -> None:
        self._ops = hardware_ops(model)
        self.producer = {name: op for op in self._ops for name in op.onnx_node.output}
        self._pictures = {id(op): op.reads(PictureStream) for op in self._ops}
        self._chains: dict[str, tuple[HardwareOp, ...]] = {}

    def joins(self) -> list[tuple[HardwareOp, tuple[str, str]]]:
        """Every op that joins branches, with its (skip tensor, long tensor), once a skip tensor."""
        return [(op, pair) for op in self._ops for pair in self._operands(op)]

    def _operands(self, op: HardwareOp) -> list[tuple[str, str]]:
        pictures, windows = self._pictures[id(op)], op.reads(WindowStream)
        if windows:
            return [(pictures[0], windows[0])] if pictures else []
        # A node that joins branches of equal length holds nothing back.
        depths = [len(self.windows(tensor)) for tensor in pictures]
        longest = pictures[depths.index(max(depths))] if depths else ""
        return [
            (tensor, longest)
            for tensor, depth in zip(pictures, depths, strict=True)
            if depth < max(depths)
        ]

    def skip_path(self, tensor: str) -> list[str]:
        """Tensors from the join's operand ``tensor`` back to where the skip stream starts.

        A separate 1x1 convolution on the way is no start: the data waits at the fork before it.
        """
        path = [tensor]
        while self.producer[path[-1]].relays_skip:
            path.append(self.producer[path[-1]].onnx_node.input[0])
        return path

    def windows(self, tensor: str, origin: HardwareOp | None = None) -> list[HardwareOp]:
        """Window buffers from ``tensor`` back along the long branch to ``origin`` (or the input).

        ``origin`` itself is not counted: a forwarding buffer's data has already passed it.
        """
        chain = self._chain(tensor)
        before = chain[: chain.index(origin)] if origin in chain else chain
        return [op for op in before if isinstance(op, WindowBuffer)]

    def _chain(self, tensor: str) -> tuple[HardwareOp, ...]:
        """Ops from the producer of ``tensor`` back along the longest branch."""
        if tensor not in self.producer:
            return ()
        if tensor not in self._chains:
            op = self.producer[tensor]
            sources = self._pictures[id(op)] if len(self._pictures[id(op)]) > 1 else ()
            longest = max(
                sources,
                key=lambda name: len(self.windows(name)),
                default=op.onnx_node.input[0],
            )
            self._chains[tensor] = (op, *self._chain(longest))
        return self._chains[tensor]


def _buffer(
    model: ModelWrapper, graph: _Branches, join: HardwareOp, skip: str, long: str
) -> SkipBuffer | None:
    tensor = graph.skip_path(skip)[-1]
    origin = graph.producer[tensor]
    kernels = [op.attrs("fh", "fw") for op in graph.windows(long, origin)]
    rows = 1 + sum(fh - 1 for fh, _ in kernels)
    columns = 1 + sum(fw - 1 for _, fw in kernels)
    _, _, width, channels = model.get_tensor_shape(tensor)
    pixels = width * (rows - 1) + columns
    if not isinstance(origin, StreamFork):
        pixels -= 1
    if isinstance(origin, WindowBuffer) and origin.get_nodeattr("buffer_style") == "rows":
        # The oldest row forwards what it takes in, not what it is done with.
        row = origin.row_window()
        pixels += row.history * row.in_lanes
    if pixels < 1:
        return None
    return SkipBuffer(
        join=join.onnx_node.name,
        origin=origin.onnx_node.name,
        output=list(origin.onnx_node.output).index(tensor),
        tensor=tensor,
        pixels=pixels,
        channels=channels,
        bits=model.get_tensor_datatype(tensor).bitwidth(),
    )
