"""Latency of one frame by the cost model: from the first code in to the last code out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from finn_resnet.transformation.graph_edit import as_op

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.parallelism.estimate import Estimate


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
        if node.name in cycles:
            behind += as_op(node).tail_share() * cycles[node.name]
        tail.update(dict.fromkeys(node.output, behind))
    last = max(tail[output.name] for output in model.graph.output)
    return math.ceil(estimate.cycles_per_frame + last)
