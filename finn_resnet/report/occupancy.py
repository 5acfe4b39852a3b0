"""How full a stream is over time: curve from a simulation's trace, and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

POINTS = 240
"""Points of a curve: enough for a picture, small in a report."""

_WIDTH, _ROW, _LABEL, _GAP = 980, 46, 320, 12


def occupancy_curve(
    writes: Sequence[int], reads: Sequence[int], points: int = POINTS
) -> dict[str, list[int]]:
    """Tokens in a stream over time, at most `points` values.

    Args:
        writes: cycle of every write, rising.
        reads: cycle of every read, rising.
        points: length of the curve at most.

    Returns:
        `cycles`, the start of each of equally long spans, and `tokens`, the most tokens the
        stream held in it.
    """
    events = np.concatenate([np.asarray(writes, np.int64), np.asarray(reads, np.int64)])
    if not len(events):
        return {"cycles": [], "tokens": []}
    steps = np.concatenate([np.ones(len(writes), np.int64), -np.ones(len(reads), np.int64)])
    # Within one cycle the reads come first: a full stream takes a token as it gives one.
    order = np.lexsort((steps, events))
    times, held = events[order], np.cumsum(steps[order])
    starts = np.unique(np.linspace(0, times[-1], points, endpoint=False).astype(np.int64))
    # What a span begins with is what the event before it left behind.
    before = np.searchsorted(times, starts) - 1
    most = np.where(before >= 0, held[np.maximum(before, 0)], 0)
    np.maximum.at(most, np.searchsorted(starts, times, side="right") - 1, held)
    return {"cycles": starts.tolist(), "tokens": most.tolist()}


def draw_occupancy(streams: Sequence[dict[str, Any]]) -> str:
    """SVG with one curve for each stream, all on the same time axis.

    Args:
        streams: entries with `name`, `depth` (tokens) and `occupancy` (see `occupancy_curve`).
    """
    end = max(max(stream["occupancy"]["cycles"], default=0) for stream in streams) or 1
    rows = [_curve(stream, index, end) for index, stream in enumerate(streams)]
    height = len(streams) * (_ROW + _GAP) + 22
    axis = (
        f'<text x="{_LABEL}" y="{height - 4}">cycle 0</text>'
        f'<text class="end" x="{_WIDTH}" y="{height - 4}">cycle {end:,}</text>'
    )
    return (
        f'<svg class="occupancy" role="img" aria-label="Tokens held by {len(streams)} streams over '
        f'{end:,} cycles" xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}">' + "".join(rows) + axis + "</svg>"
    )


def _curve(stream: dict[str, Any], index: int, end: int) -> str:
    top = index * (_ROW + _GAP)
    bottom = top + _ROW
    cycles, tokens = stream["occupancy"]["cycles"], stream["occupancy"]["tokens"]
    across = (_WIDTH - _LABEL) / end
    spans = zip(cycles, [*cycles[1:], end], tokens, strict=True)
    path = f"M {_LABEL} {bottom}"
    hover = []
    for start, stop, held in spans:
        level = bottom - _ROW * min(held / stream["depth"], 1)
        path += f" L {_LABEL + start * across:.1f} {level:.1f} H {_LABEL + stop * across:.1f}"
        hover.append(
            f'<rect x="{_LABEL + start * across:.1f}" y="{top}" height="{_ROW}" '
            f'width="{(stop - start) * across:.1f}"><title>cycle {start:,}: {held:,} tokens</title>'
            "</rect>"
        )
    most = max(tokens, default=0)
    return (
        f'<line class="full" x1="{_LABEL}" x2="{_WIDTH}" y1="{top}" y2="{top}"/>'
        f'<path class="held" d="{path} V {bottom} Z"/><g class="hover">{"".join(hover)}</g>'
        f'<text x="0" y="{top + 18}">{escape(stream["name"])}</text>'
        f'<text class="muted" x="0" y="{top + 34}">up to {most:,} of {stream["depth"]:,} tokens'
        "</text>"
    )
