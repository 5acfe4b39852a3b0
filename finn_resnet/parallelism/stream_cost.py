"""Cost of what lies on an edge between two layouts: FIFOs and the width adapter."""

from __future__ import annotations

from math import ceil

from finn_resnet.boards import Resources
from finn_resnet.custom_ops.base import WriteOrder
from finn_resnet.parallelism.memory_cost import fifo_cost
from finn_resnet.parallelism.network import Edge
from finn_resnet.parallelism.stream_task_cost import adapter_cost, adapter_cycles, stream_bits
from finn_resnet.transformation.set_stream_depths import burst
from finn_resnet.transformation.stream_profile import StreamProfile


def edge_depth(edge: Edge, source: StreamProfile) -> int:
    """Tokens per lane: the held-back pixels of a skip, a burst of the writer, or 2."""
    depth = ceil(edge.skip_pixels / source.lanes) * ceil(edge.picture.ch / source.ch_par)
    return max(depth, burst(edge.write_order, edge.picture.ch, source, None))


def source_cost(edge: Edge, source: StreamProfile) -> Resources:
    """FIFOs of the source layout, at the depths that SetStreamDepths gives."""
    depth = edge_depth(edge, source)
    return fifo_cost(depth, stream_bits(edge.picture, source)) * source.lanes


def conversion_cost(edge: Edge, source: StreamProfile, sink: StreamProfile) -> Resources:
    """Width adapter and the FIFOs behind it; nothing where the layouts agree."""
    if source == sink:
        return Resources()
    depth = burst(WriteOrder.LANES_IN_TURN, edge.picture.ch, sink, source)
    behind = fifo_cost(depth, stream_bits(edge.picture, sink)) * sink.lanes
    return adapter_cost(edge.picture, source, sink) + behind


def conversion_cycles(edge: Edge, source: StreamProfile, sink: StreamProfile) -> int:
    """Cycles per frame of the width adapter; 0 where the layouts agree."""
    return 0 if source == sink else adapter_cycles(edge.picture, source, sink)
