"""Steps of the modules that regroup codes: width adapter, input and output DMA."""

from __future__ import annotations

import math
from itertools import groupby

from finn_resnet.generation.rtl.schedule import LaneEnd, Step, Steps
from finn_resnet.generation.task_code import BEAT_BYTES, NodeContext


def adapter_steps(node: NodeContext) -> Steps:
    """`width_adapter.sv`: a step reads when the codes at hand do not fill the next output token."""
    names = ("h", "w", "ch", "in_ch_par", "in_lanes", "out_ch_par", "out_lanes")
    h, w, ch, in_ch_par, in_lanes, out_ch_par, out_lanes = node.op.attrs(*names)
    columns = math.gcd(in_lanes, out_lanes)
    pixel = _pixel_steps(ch, in_ch_par, out_ch_par)
    row = []
    for group in range(-(-w // columns)):
        exist = range(min(columns, w - group * columns))
        ends = [
            tuple((port, group % (lanes // columns) * columns + c) for c in exist)
            for port, lanes in (("in", in_lanes), ("out", out_lanes))
        ]
        row += [Step(ends[0] * reads, ends[1] * writes) for reads, writes in pixel]
    return Steps(h, [(1, _runs(row))])


def _pixel_steps(ch: int, in_ch_par: int, out_ch_par: int) -> list[tuple[bool, bool]]:
    """Whether each step of a pixel reads and writes."""
    read = written = 0
    steps = []
    while written < -(-ch // out_ch_par):
        needed = min((written + 1) * out_ch_par, ch)
        reads = min(read * in_ch_par, ch) < needed
        read += reads
        writes = min(read * in_ch_par, ch) >= needed
        written += writes
        steps.append((reads, writes))
    return steps


def _runs(steps: list[Step]) -> list[tuple[Step, int]]:
    return [(step, len(list(same))) for step, same in groupby(steps)]


def _tokens(node: NodeContext) -> list[tuple[int, int]]:
    """(lane, bytes) of every token of a frame on the DMA's stream."""
    h, w, ch, ch_par, lanes, code_bytes = node.op.attrs(
        "h", "w", "ch", "ch_par", "lanes", "code_bytes"
    )
    groups = -(-ch // ch_par)
    sizes = [ch_par * code_bytes] * (groups - 1) + [(ch - (groups - 1) * ch_par) * code_bytes]
    row = [(column % lanes, size) for column in range(w) for size in sizes]
    return row * h


def _parts(node: NodeContext) -> int:
    ch_par, code_bytes = node.op.attrs("ch_par", "code_bytes")
    return -(-ch_par * code_bytes // BEAT_BYTES)


def input_dma_steps(node: NodeContext) -> Steps:
    """`input_dma.sv`: a step takes a beat while the token's bytes are not there."""
    beat: tuple[LaneEnd, ...] = ((node.port, 0),)
    steps, held = [], 0
    for lane, size in _tokens(node):
        for part in range(_parts(node)):
            reads = held < size
            held += BEAT_BYTES * reads
            last = part == _parts(node) - 1
            steps.append(Step(beat if reads else (), (("out", lane),) if last else ()))
        held -= size
    return Steps(1, [(1, _runs(steps))])


def output_dma_steps(node: NodeContext) -> Steps:
    """`output_dma.sv`: a step gives a beat while there is a whole one, and a frame's rest."""
    beat: tuple[LaneEnd, ...] = ((node.port, 0),)
    steps, held = [], 0
    for lane, size in _tokens(node):
        held += size
        for part in range(_parts(node)):
            writes = held >= BEAT_BYTES
            held -= BEAT_BYTES * writes
            steps.append(Step((("in", lane),) if part == 0 else (), beat if writes else ()))
    if held:
        steps.append(Step((), beat))
    return Steps(1, [(1, _runs(steps))])
