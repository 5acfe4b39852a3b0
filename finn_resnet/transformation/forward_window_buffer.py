"""ForwardWindowBuffer: the skip branch starts where the first window buffer ends."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.custom_ops import StreamAdd
from finn_resnet.transformation.fork_branches import Branch, branches_of
from finn_resnet.transformation.graph_edit import (
    Reader,
    as_op,
    drop_fork_copy,
    nodes_of,
    only_reader,
    readers,
    require_hardware_graph,
    sort_nodes,
)


class ForwardWindowBuffer(Transformation):
    """Temporal reuse: what a window buffer no longer needs is exactly what the skip needs next.

    The fork's skip branch is removed; the long branch's window buffer forwards its input once it
    has left the last slice, so the skip buffer shrinks by that window buffer's size
    (before: [iw0 (rh0 - 1) + rw0] ich0, after: [(fh1 - 1) iw1 + fw1 - 1] ich1; eq. 22-27).
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        for fork in nodes_of(model, "StreamFork"):
            match = _match(model, fork)
            if match is not None:
                _forward(model, fork, *match)
        sort_nodes(model)
        return model, False


def _match(model: ModelWrapper, fork: NodeProto) -> tuple[Branch, Branch] | None:
    """(long branch, skip branch): the skip reaches a join that the long branch's conv reaches."""
    branches = branches_of(model, fork)
    for long in branches:
        if long.conv is None or as_op(long.window).get_nodeattr("forward"):
            continue
        for skip in branches:
            if skip is not long and skip.window is None:
                join = _join_of(model, skip.copy)
                if join is not None and _reaches(model, long.conv, join):
                    return long, skip
    return None


def _join_of(model: ModelWrapper, tensor: str) -> NodeProto | None:
    """The addition (or convolution with a skip input) a branch of bare requantisers ends in."""
    reader: Reader | None = only_reader(model, tensor)
    while reader is not None and reader.node.op_type == "StreamRequant":
        reader = only_reader(model, reader.node.output[0])
    if reader is None:
        return None
    op = as_op(reader.node)
    joins = isinstance(op, StreamAdd) or reader.index == op.index_of("skip")
    return reader.node if joins else None


def _reaches(model: ModelWrapper, start: NodeProto, goal: NodeProto) -> bool:
    pending, seen = [start], set()
    while pending:
        node = pending.pop()
        if node == goal:
            return True
        for tensor in node.output:
            if tensor not in seen:
                seen.add(tensor)
                pending.extend(reader.node for reader in readers(model, tensor))
    return False


def _forward(model: ModelWrapper, fork: NodeProto, long: Branch, skip: Branch) -> None:
    long.absorb_requant(model)
    forwarded = f"{fork.input[0]}_forward"
    model.set_tensor_shape(forwarded, model.get_tensor_shape(fork.input[0]))
    model.set_tensor_datatype(forwarded, model.get_tensor_datatype(fork.input[0]))
    for reader in readers(model, skip.copy):
        reader.rewire(forwarded)
    as_op(long.window).set_nodeattr("forward", 1)
    long.window.output.append(forwarded)
    drop_fork_copy(model, fork, skip.copy)
