"""When each task works on which frame: a bar from its first to its last cycle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from finn_resnet.custom_ops import is_helper

_WIDTH, _ROW, _LABEL, _STALLS, _GAP = 980, 18, 240, 120, 14
_TICKS = 5


def shown_tasks(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Memory sides and layers; the many tasks of window buffers would hide them."""
    return [task for task in tasks if not is_helper(task["kind"]) and task["frames"]]


def draw_timeline(tasks: Sequence[dict[str, Any]]) -> str:
    """SVG with a row for each task: a bar for each frame, and how its cycles were spent.

    Args:
        tasks: entries with `name` and `frames`, a list of (first cycle, last cycle), the last
            negative for a frame that was not finished; and, for the bar at the right,
            `busy_cycles`, `stalled_on_input_cycles` and `stalled_on_output_cycles`.
    """
    end = max((last for task in tasks for _, last in task["frames"]), default=0)
    end = max(end, 1)
    across = (_WIDTH - _LABEL - _STALLS - _GAP) / end
    parts = []
    for index, task in enumerate(tasks):
        top = index * _ROW
        parts.append(f'<text x="0" y="{top + 12}">{escape(task["name"])}</text>')
        for frame, (first, last) in enumerate(task["frames"]):
            if 0 <= first <= last:
                parts.append(
                    f'<rect class="frame{frame % 2}" x="{_LABEL + first * across:.1f}" '
                    f'y="{top + 2}" width="{max((last - first) * across, 1):.1f}" '
                    f'height="{_ROW - 6}"><title>{escape(task["name"])}, frame {frame}: cycles '
                    f"{first:,} to {last:,}</title></rect>"
                )
        parts.append(_spent(task, top))
    height = len(tasks) * _ROW + 20
    return (
        f'<svg class="timeline" role="img" aria-label="{len(tasks)} tasks over {end:,} cycles" '
        f'xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}">' + _axis(end, across, height) + "".join(parts) + "</svg>"
    )


def _axis(end: int, across: float, height: float) -> str:
    """Ticks at round numbers of cycles, with lines through the rows."""
    rough = end / _TICKS
    unit = 10 ** math.floor(math.log10(max(rough, 1)))
    step = max(1, math.ceil(rough / unit) * unit)
    ticks = []
    for cycle in range(0, end + 1, step):
        at = _LABEL + cycle * across
        ticks.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height - 18}"/>'
            f'<text class="tick" x="{at:.1f}" y="{height - 4}">{cycle:,}</text>'
        )
    return "".join(ticks)


def _spent(task: dict[str, Any], top: float) -> str:
    """A bar of the last frame's cycles: working, waiting for input, waiting for space."""
    keys = ("busy_cycles", "stalled_on_input_cycles", "stalled_on_output_cycles")
    cycles = [task.get(key, 0) for key in keys]
    if not sum(cycles):
        return ""
    left, parts = float(_WIDTH - _STALLS), []
    names = ("working", "waiting for input", "waiting for space")
    for kind, name, count in zip(("busy", "starved", "blocked"), names, cycles, strict=True):
        width = _STALLS * count / sum(cycles)
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top + 2}" width="{width:.1f}" '
            f'height="{_ROW - 6}"><title>{escape(task["name"])}, last frame: {count:,} cycles '
            f"{name}</title></rect>"
        )
        left += width
    return "".join(parts)
