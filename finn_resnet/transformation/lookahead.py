"""How far behind its input a tensor comes: what decides which of two branches waits at a join."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.transformation.graph_edit import as_op


def lookahead(model: ModelWrapper) -> dict[str, int]:
    """Pixels that windows on the longest way to each tensor read beyond the pixel in question.

    A window of ``fh`` rows reads ``fh - 1 - pad_top`` rows ahead; what it forwards has passed all
    ``fh - 1`` links. Strides are not counted: branches that meet have the same.

    Args:
        model: hardware graph in topological order.
    """
    ahead: dict[str, int] = {}
    for node in model.graph.node:
        before = max((ahead.get(name, 0) for name in node.input), default=0)
        for name, own in zip(node.output, _own(node), strict=True):
            ahead[name] = before + own
    return ahead


def _own(node: NodeProto) -> list[int]:
    if node.op_type != "WindowBuffer":
        return [0] * len(node.output)
    iw, pads = as_op(node).attrs("iw", "pads")
    forwarded = forward_lag(node)
    return [forwarded - pads[0] * iw - pads[1], forwarded][: len(node.output)]


def forward_lag(node: NodeProto) -> int:
    """Pixels by which the picture a window buffer forwards would come behind its input."""
    fh, fw, iw = as_op(node).attrs("fh", "fw", "iw")
    return (fh - 1) * iw + fw - 1
