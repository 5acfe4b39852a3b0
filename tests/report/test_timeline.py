"""The timeline shows every finished frame of every layer, in proportion to its cycles."""

from __future__ import annotations

import re

import pytest

from finn_resnet.report.timeline import draw_timeline, shown_tasks


def task(name: str, kind: str, frames: list[list[int]]) -> dict:
    return {"name": name, "kind": kind, "frames": frames}


TASKS = [
    task("input", "memory", [[0, 100], [100, 200]]),
    task("conv1_window_slice_0_0", "WindowBuffer", [[0, 100]]),
    task("conv1", "StreamConv", [[10, 110], [110, 400]]),
    task("conv2", "StreamConv", [[50, 250], [260, -1]]),
]


def test_layers_and_memory_sides_are_shown():
    assert [task["name"] for task in shown_tasks(TASKS)] == ["input", "conv1", "conv2"]


def test_bars_are_as_long_as_the_frames():
    bars = re.findall(
        r'<rect class="frame(\d)" x="([\d.]+)".*?width="([\d.]+)"', draw_timeline(TASKS[2:])
    )
    # The unfinished frame of conv2 has no bar.
    assert [frame for frame, _, _ in bars] == ["0", "1", "0"]
    widths = [float(width) for _, _, width in bars]
    assert widths[1] / widths[0] == pytest.approx(2.9, rel=1e-2)
    assert widths[2] / widths[0] == pytest.approx(2.0, rel=1e-2)
