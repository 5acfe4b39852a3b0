"""Cycles and resources of the nodes that take the layout of what feeds them, and of adapters."""

from __future__ import annotations

from dataclasses import replace

from finn_resnet.boards import Resources
from finn_resnet.custom_ops import (
    OutputDMA,
    StreamAdd,
    StreamConcat,
    StreamFork,
    StreamPool,
    StreamRequant,
    StreamResize,
)
from finn_resnet.custom_ops.base import SearchRole
from finn_resnet.parallelism.costs import costs
from finn_resnet.parallelism.stream_task_cost import (
    Picture,
    adapter_cost,
    adapter_cycles,
    add_cost,
    concat_cost,
    dma_cost,
    fork_cost,
    output_dma_cycles,
    pool_cost,
    requant_task_cost,
    resize_cost,
    stream_cycles,
)
from finn_resnet.transformation.stream_profile import StreamProfile

CyclesAndCost = tuple[int, Resources]


@costs("OutputDMA")
def output_dma(op: OutputDMA, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Tokens to beats."""
    sizes = op.attrs("code_bytes", "beat_bytes")
    return output_dma_cycles(picture, profile, *sizes), dma_cost(profile, *sizes)


@costs("StreamFork")
def fork(op: StreamFork, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Copies."""
    return stream_cycles(picture, profile), fork_cost(len(op.results()))


@costs("StreamConcat")
def concat(op: StreamConcat, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Selection and requantiser; ``picture`` is the first part."""
    whole = replace(picture, ch=op.get_nodeattr("ch"))
    cost = concat_cost(whole, profile, len(op.parts), op.get_nodeattr("requant"))
    return stream_cycles(whole, profile), cost


@costs("StreamAdd")
def add(op: StreamAdd, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Sum and requantiser."""
    cost = add_cost(picture, profile, op.get_nodeattr("requant"), op.factors_of_operands())
    return stream_cycles(picture, profile), cost


@costs("StreamRequant")
def requant(op: StreamRequant, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Requantiser."""
    cost = requant_task_cost(picture, profile, op.get_nodeattr("requant"))
    return stream_cycles(picture, profile), cost


@costs("StreamPool")
def global_pool(op: StreamPool, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """A pool over the whole picture."""
    fh, fw, kind, map_ = op.attrs("fh", "fw", "kind", "requant")
    cost = pool_cost(picture, profile, kind=kind, taps=fh * fw, windowed=False, requant=map_)
    return stream_cycles(picture, profile), cost


@costs("StreamResize")
def resize(op: StreamResize, picture: Picture, profile: StreamProfile) -> CyclesAndCost:
    """Tokens of the larger picture; the memory of a row."""
    rows, columns = op.attrs("rows", "columns")
    larger = replace(picture, h=picture.h * rows, w=picture.w * columns)
    return stream_cycles(larger, profile), resize_cost(picture, profile)


@costs("StreamWidthAdapter", SearchRole.ADAPTER)
def adapter(picture: Picture, source: StreamProfile, sink: StreamProfile) -> CyclesAndCost:
    """Regrouping."""
    return adapter_cycles(picture, source, sink), adapter_cost(picture, source, sink)
