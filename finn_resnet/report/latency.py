"""Latency of one frame by the cost model: from the first code in to the last code out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import NodeProto
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.parallelism.estimate import Estimate

# Nodes that write nothing before the last input token of a frame has arrived.
_WHOLE_FRAME_OPS = ("StreamPool",)


def frame_latency(model: ModelWrapper, estimate: Estimate) -> int:
    """Cycles from the first token of a lone frame to the last token of its result (a model).

    The picture enters at the pace of the bottleneck. Behind its last token, every layer on the
    longest path still has to compute the output rows whose windows reach the last input row;
    their number is counted from the window geometry, their time is that share of the layer's
    cycles.
    """
    cycles = {layer.name: layer.cycles for layer in estimate.layers}
    tail: dict[str, float] = {}
    for node in model.graph.node:
        behind = max((tail.get(name, 0.0) for name in node.input), default=0.0)
        behind += _tail_share(model, node) * cycles.get(node.name, 0)
        tail.update(dict.fromkeys(node.output, behind))
    last = max(tail[output.name] for output in model.graph.output)
    return math.ceil(estimate.cycles_per_frame + last)


def _tail_share(model: ModelWrapper, node: NodeProto) -> float:
    """Share of a layer's rows that can only be computed once the last input row is there."""
    if node.op_type in _WHOLE_FRAME_OPS:
        return 1.0
    if node.op_type != "StreamConv":
        return 0.0
    op = model.get_customop_wrapper(node)
    ih, oh, fh, stride, pads = op.attrs("ih", "oh", "fh", "stride", "pads")
    # Row r reads input rows r * stride - top .. r * stride - top + fh - 1.
    first = max(0, math.ceil((ih - 1 + pads[0] - (fh - 1)) / stride[0]))
    return (oh - min(first, oh)) / oh
