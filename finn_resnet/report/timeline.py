"""When each task works on which frame: a bar from its first to its last cycle."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_WIDTH, _ROW, _LABEL = 980, 18, 320

# Tasks that make up a layer each; the many slices of window buffers would hide them.
_SHOWN_KINDS = ("memory", "InputDMA", "StreamConv", "StreamPool", "StreamAdd", "OutputDMA")


def shown_tasks(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks a timeline shows: memory sides and one for each layer."""
    return [task for task in tasks if task["kind"] in _SHOWN_KINDS and task["frames"]]


def draw_timeline(tasks: Sequence[dict[str, Any]]) -> str:
    """SVG with a row for each task and a bar for each frame.

    Args:
        tasks: entries with `name` and `frames`, a list of (first cycle, last cycle); the last is
            negative for a frame that was not finished.
    """
    end = max((last for task in tasks for _, last in task["frames"]), default=0)
    end = max(end, 1)
    across = (_WIDTH - _LABEL) / end
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
    height = len(tasks) * _ROW + 20
    axis = (
        f'<text x="{_LABEL}" y="{height - 4}">cycle 0</text>'
        f'<text class="end" x="{_WIDTH}" y="{height - 4}">cycle {end:,}</text>'
    )
    return (
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}">' + "".join(parts) + axis + "</svg>"
    )
