"""Cycles and resources of a window buffer: slices or rows, and the streams between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from finn_resnet.boards import Resources
from finn_resnet.custom_ops.row_window import RowWindow
from finn_resnet.custom_ops.window import used_columns
from finn_resnet.parallelism.coefficients import keeps_costs, priced
from finn_resnet.parallelism.memory_cost import delay_cost, fifo_cost


@dataclass(frozen=True)
class WindowShape:
    """Sizes of a window buffer; ``code_bits`` is the width in bits of one code.

    ``last_row``: whether some window reads the picture's last row.
    """

    ich: int
    ih: int
    iw: int
    oh: int
    ow: int
    fh: int
    fw: int
    stride_w: int = 1
    pad_left: int = 0
    last_row: bool = True
    forward: bool = False
    code_bits: int = 8


@dataclass(frozen=True)
class WindowFactors:
    """Unroll factors and styles of a window buffer.

    ``buffer_style``: a task for every tap ("slices") or for every window row ("rows");
    ``link_style``: memory (lut or bram) of links that are too long for shift registers.
    """

    ich_par: int = 1
    ow_par: int = 1
    in_lanes: int = 1
    link_style: str = "bram"
    buffer_style: str = "slices"


def row_window(shape: WindowShape, ow_par: int, in_lanes: int) -> RowWindow:
    """Geometry of the row tasks."""
    return RowWindow(shape.iw, shape.ow, shape.fw, shape.stride_w, shape.pad_left, ow_par, in_lanes)


def window_cycles(shape: WindowShape, factors: WindowFactors) -> int:
    """Cycles per frame: the slower of taking the picture in and handing windows out.

    Rows hand out what they complete as they take the picture in, and a last row after it.
    """
    groups = ceil(shape.ich / factors.ich_par)
    taken = shape.ih * ceil(shape.iw / factors.in_lanes)
    if factors.buffer_style == "rows":
        flush = row_window(shape, factors.ow_par, factors.in_lanes).flush
        return (taken + flush * shape.last_row) * groups
    given = shape.oh * ceil(shape.ow / factors.ow_par)
    return max(taken, given) * groups


@keeps_costs
def window_cost(shape: WindowShape, factors: WindowFactors) -> Resources:
    """Resources of the tasks of a window buffer, the FIFOs between them and those it writes."""
    columns = used_columns(shape.fw, factors.ow_par, shape.stride_w)
    if shape.fh * len(columns) == 1:
        # A 1x1 kernel with one column needs no buffer: one task that drops unused positions.
        window = fifo_cost(2, factors.ich_par * shape.code_bits)
        return window + priced("task_lut") + priced("task_ff")
    if factors.buffer_style == "rows":
        return _rows_cost(shape, factors)
    return _slices_cost(shape, factors, columns)


def _rows_cost(shape: WindowShape, factors: WindowFactors) -> Resources:
    """Row tasks, their output streams, links, and the selection where the reader joins the rows."""
    row = row_window(shape, factors.ow_par, factors.in_lanes)
    groups = ceil(shape.ich / factors.ich_par)
    width = factors.ich_par * shape.code_bits
    # A shift register holds what lies between two window columns of the same lane.
    kept = sum(row.age(j) > 0 for j in range(row.columns))
    history = delay_cost(groups, width) * kept
    task = priced("row_lut") + priced("row_ff")
    row_width = row.columns * width
    selection = priced("pad_lut_per_bit", row_width)
    rows = (task + history + fifo_cost(2, row_width) + selection) * shape.fh
    edges = priced("pad_lut_per_edge", shape.fh + row.columns)
    link = fifo_cost(row.lane_groups * groups, factors.in_lanes * width, factors.link_style)
    return rows + edges + link * (shape.fh - 1)


def _slices_cost(shape: WindowShape, factors: WindowFactors, columns: list[int]) -> Resources:
    groups = ceil(shape.ich / factors.ich_par)
    width = factors.ich_par * shape.code_bits
    taps = shape.fh * len(columns)
    slices = (priced("slice_lut") + priced("slice_ff")) * taps
    # Lanes with unequal numbers of columns make the taps hold a pixel ahead.
    ragged = shape.iw % factors.in_lanes != 0
    tap_streams = fifo_cost(2 + groups if ragged else 2, width) * taps
    pad = priced("task_lut") + priced("task_ff") + Resources(ff=taps * width)
    pad += priced("pad_lut_per_tap", taps) + priced("pad_lut_per_bit", taps * width)
    links = _links_cost(shape, columns, groups, width, factors.in_lanes, factors.link_style)
    return slices + tap_streams + pad + links + fifo_cost(2, taps * width)


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
