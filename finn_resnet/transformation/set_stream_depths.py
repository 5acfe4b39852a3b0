"""SetStreamDepths: stream depths by the paper's formulas."""

from __future__ import annotations

import math

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.custom_ops.base import HardwareOp, WriteOrder
from finn_resnet.custom_ops.streams import PictureStream, StreamProfile
from finn_resnet.transformation.graph_edit import as_op, require_hardware_graph
from finn_resnet.transformation.skip_buffers import skip_buffers
from finn_resnet.transformation.stream_profile import output_profile

DEPTHS_PROPERTY = "finn_resnet_stream_depths"
"""Metadata key: where the depths come from, "formula" or "sized" (by `SizeStreams`)."""

PARAMETER_DEPTH = 2
"""Depth of parameter and window streams (the paper's table)."""


class SetStreamDepths(Transformation):
    """Set ``out_depths`` of every node, in tokens per lane.

    Parameter and window streams get 2, a convolution's output a whole burst of
    ``ceil(och / och_par)``, skip streams eq. 22-27. Nodes that write their lanes one after the
    other get a burst of `burst` tokens. Run it after parallelism and width adapters, since
    tokens depend on both.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        for node in model.graph.node:
            op = as_op(node)
            if not op.is_host:
                op.set_nodeattr("out_depths", _burst_depths(op))
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


def burst(
    order: WriteOrder, channels: int, sink: StreamProfile, source: StreamProfile | None
) -> int:
    """Tokens per lane that a writer makes its reader wait for; at least `PARAMETER_DEPTH`.

    The reader takes all lanes at once. A writer of ``gcd(source.lanes, sink.lanes)`` lanes at a
    time (1 without a source) is still on the other lanes of a group when the first ones hold all
    tokens of their pixel: they have to, or both block each other.

    Args:
        order: how the op writes.
        channels: of a pixel.
        sink: the layout written.
        source: the layout read, None where that is no picture.
    """
    groups = -(-channels // sink.ch_par)
    columns = math.gcd(source.lanes, sink.lanes) if source else 1
    in_turn = order is WriteOrder.LANES_IN_TURN and columns < sink.lanes
    return max(groups, PARAMETER_DEPTH) if in_turn or order is WriteOrder.PIXEL else PARAMETER_DEPTH


def _burst_depths(op: HardwareOp) -> list[int]:
    read = op.input_streams()[0]
    source = read.profile if isinstance(read, PictureStream) else None
    return [
        burst(op.write_order, stream.ch, stream.profile, source)
        if isinstance(stream, PictureStream)
        else PARAMETER_DEPTH
        for stream in op.output_streams()
    ]
