"""Cycles and resources of a window buffer: slices, link FIFOs, tap FIFOs and padding task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil

from finn_resnet.boards import Resources
from finn_resnet.parallelism.coefficients import coefficient
from finn_resnet.parallelism.memory_cost import fifo_cost


@dataclass(frozen=True)
class WindowShape:
    """Sizes of a window buffer; ``code_bits`` is the width in bits of one code."""

    ich: int
    ih: int
    iw: int
    oh: int
    ow: int
    fh: int
    fw: int
    stride_w: int = 1
    forward: bool = False
    code_bits: int = 8


def window_columns(shape: WindowShape, ow_par: int) -> int:
    """Tap columns fwp of a window that serves ``ow_par`` outputs."""
    return shape.fw + (ow_par - 1) * shape.stride_w


def window_cycles(shape: WindowShape, ich_par: int, ow_par: int, in_lanes: int) -> int:
    """Cycles per frame: the slower of taking the picture in and handing windows out."""
    groups = ceil(shape.ich / ich_par)
    taken = shape.ih * ceil(shape.iw / in_lanes)
    given = shape.oh * ceil(shape.ow / ow_par)
    return max(taken, given) * groups


def used_tap_columns(shape: WindowShape, ow_par: int) -> list[int]:
    """Tap columns that some output reads (strides wider than the kernel skip columns)."""
    columns = window_columns(shape, ow_par)
    return [
        j
        for j in range(columns)
        if any(0 <= j - p * shape.stride_w < shape.fw for p in range(ow_par))
    ]


@cache
def window_cost(
    shape: WindowShape, ich_par: int, ow_par: int, in_lanes: int, link_style: str
) -> Resources:
    """Resources of all tasks of a window buffer and of the FIFOs between them.

    ``link_style``: memory (lut or bram) of links that are too long for shift registers.
    The window's own output stream is costed with the other streams.
    """
    columns = used_tap_columns(shape, ow_par)
    groups = ceil(shape.ich / ich_par)
    width = ich_par * shape.code_bits
    taps = shape.fh * len(columns)
    task = Resources(lut=coefficient("task_lut"), ff=coefficient("task_ff"))
    if taps == 1:
        # A 1x1 kernel with one column needs no buffer: one task that drops unused positions.
        return task
    slices = Resources(lut=coefficient("slice_lut"), ff=coefficient("slice_ff")) * taps
    # Lanes with unequal numbers of columns make the taps hold a pixel ahead.
    ragged = shape.iw % in_lanes != 0
    tap_streams = fifo_cost(2 + groups if ragged else 2, width) * taps
    pad = task + Resources(
        lut=taps * (coefficient("pad_lut_per_tap") + width * coefficient("pad_lut_per_bit")),
        ff=taps * width,
    )
    return (
        slices
        + tap_streams
        + pad
        + _links_cost(shape, columns, groups, width, in_lanes, link_style)
    )


def _links_cost(
    shape: WindowShape,
    columns: list[int],
    groups: int,
    width: int,
    in_lanes: int,
    link_style: str,
) -> Resources:
    """Link FIFOs of every chain: S1 inside a row, S2 for the rest of the row."""
    row_tokens = ceil(shape.iw / in_lanes) * groups
    cost = Resources()
    for residue in range(in_lanes):
        in_row = [j for j in columns if j % in_lanes == residue]
        if not in_row:
            continue
        steps = [(b - a) // in_lanes * groups for a, b in pairwise(in_row)]
        for step in steps:
            cost += fifo_cost(step, width, link_style) * shape.fh
        rest = max(row_tokens - sum(steps), 2)
        cost += fifo_cost(rest, width, link_style) * (shape.fh - 1)
    return cost
