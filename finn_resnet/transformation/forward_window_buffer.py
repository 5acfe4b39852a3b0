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
from finn_resnet.transformation.lookahead import forward_lag, lookahead


class ForwardWindowBuffer(Transformation):
    """Temporal reuse: what a window buffer no longer needs is exactly what the skip needs next.

    The fork's skip branch is removed; the long branch's window buffer forwards its input once it
    has left the last slice, so the skip buffer shrinks by that window buffer's size
    (before: [iw0 (rh0 - 1) + rw0] ich0, after: [(fh1 - 1) iw1 + fw1 - 1] ich1; eq. 22-27).

    A long branch whose later windows read less far ahead than that buffer holds back (a single
    convolution, one before a 1x1) would wait for its own skip data: it is left as it is.
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
    ahead = lookahead(model)
    for long in branches:
        if long.conv is None or as_op(long.window).get_nodeattr("forward"):
            continue
        forwarded = ahead.get(fork.input[0], 0) + forward_lag(long.window)
        for skip in branches:
            if skip is not long and skip.window is None:
                join = _join_of(model, skip.copy)
                if join is None or max(ahead.get(name, 0) for name in join.input) < forwarded:
                    continue
                if _reaches_through_another(model, long.conv, join):
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


def _reaches_through_another(model: ModelWrapper, start: NodeProto, goal: NodeProto) -> bool:
    """Whether a way from ``start`` to ``goal`` passes a window buffer."""
    pending, seen = [(start, False)], set()
    while pending:
        node, passed = pending.pop()
        passed = passed or node.op_type == "WindowBuffer"
        if node == goal and passed:
            return True
        for tensor in node.output:
            if (tensor, passed) not in seen:
                seen.add((tensor, passed))
                pending.extend((reader.node, passed) for reader in readers(model, tensor))
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
