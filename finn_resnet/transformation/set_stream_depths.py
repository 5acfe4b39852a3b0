"""SetStreamDepths: stream depths by the paper's formulas."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.transformation.graph_edit import as_op
from finn_resnet.transformation.skip_buffers import skip_buffers
from finn_resnet.transformation.stream_profile import output_profile

PARAMETER_DEPTH = 2
"""Depth of parameter and window streams (the paper's table)."""


class SetStreamDepths(Transformation):
    """Set ``out_depths`` of every node, in tokens per lane.

    Parameter and window streams get 2, a convolution's output a whole burst of
    ``ceil(och / och_par)``, skip streams eq. 22-27. Run it after parallelism and width adapters,
    since tokens depend on both.
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
        return model, False


def _burst_depths(node: NodeProto) -> list[int]:
    depth = PARAMETER_DEPTH
    if node.op_type == "StreamConv":
        och, och_par = as_op(node).attrs("och", "och_par")
        depth = max(depth, -(-och // och_par))
    return [depth] * len(node.output)
