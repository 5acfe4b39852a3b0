"""SetStreamDepths: stream depths by the paper's formulas."""

from __future__ import annotations

import math

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.transformation.graph_edit import as_op
from finn_resnet.transformation.skip_buffers import skip_buffers
from finn_resnet.transformation.stream_profile import (
    StreamProfile,
    input_profile,
    output_profile,
)

DEPTHS_PROPERTY = "finn_resnet_stream_depths"
"""Metadata key: where the depths come from, "formula" or "sized" (by `SizeStreams`)."""

PARAMETER_DEPTH = 2
"""Depth of parameter and window streams (the paper's table)."""


class SetStreamDepths(Transformation):
    """Set ``out_depths`` of every node, in tokens per lane.

    Parameter and window streams get 2, a convolution's output a whole burst of
    ``ceil(och / och_par)``, skip streams eq. 22-27. Nodes that write their lanes one after the
    other get a burst of `lane_burst` tokens. Run it after parallelism and width adapters, since
    tokens depend on both.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        for node in model.graph.node:
            op = as_op(node)
            if not op.is_host:
                op.set_nodeattr("out_depths", _burst_depths(node))
        for buffer in skip_buffers(model):
            origin = next(n for n in model.graph.node if n.name == buffer.origin)
            op = as_op(origin)
            depths = op.depths()
            profile = output_profile(origin, buffer.output)
            groups = -(-buffer.channels // profile.ch_par)
            tokens = -(-buffer.pixels // profile.lanes) * groups
            depths[buffer.output] = max(tokens, PARAMETER_DEPTH)
            op.set_nodeattr("out_depths", depths)
        model.set_metadata_prop(DEPTHS_PROPERTY, "formula")
        return model, False


def lane_burst(channels: int, sink: StreamProfile, columns: int) -> int:
    """Tokens per lane that a writer of ``columns`` lanes at a time makes its reader wait for.

    The reader takes all lanes at once. While the writer is still on the other lanes of a group,
    the first ones hold all tokens of their pixel, or both block each other.
    """
    return -(-channels // sink.ch_par) if columns < sink.lanes else PARAMETER_DEPTH


def _burst_depths(node: NodeProto) -> list[int]:
    depth = PARAMETER_DEPTH
    if node.op_type == "StreamConv":
        och, och_par = as_op(node).attrs("och", "och_par")
        depth = max(depth, -(-och // och_par))
    elif node.op_type in ("StreamWidthAdapter", "InputDMA"):
        sink = output_profile(node, 0)
        source = input_profile(node, 0)
        columns = math.gcd(source.lanes, sink.lanes) if source else 1
        depth = max(depth, lane_burst(as_op(node).get_nodeattr("ch"), sink, columns))
    return [depth] * len(node.output)
