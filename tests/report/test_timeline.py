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


def test_stalls_of_the_last_frame_are_coloured_in_proportion():
    spent = {"busy_cycles": 60, "stalled_on_input_cycles": 30, "stalled_on_output_cycles": 10}
    drawing = draw_timeline([{**TASKS[2], **spent}])
    kinds = ("busy", "starved", "blocked")
    found = [
        float(re.search(rf'class="{kind}".*?width="([\d.]+)"', drawing).group(1)) for kind in kinds
    ]
    assert [round(width / sum(found), 2) for width in found] == [0.6, 0.3, 0.1]


def test_ticks_stand_at_round_cycles_up_to_the_end():
    ticks = re.findall(r'class="tick"[^>]*>([\d,]+)<', draw_timeline(TASKS))
    cycles = [int(tick.replace(",", "")) for tick in ticks]
    assert cycles[0] == 0 and 4 <= len(cycles) <= 6 and cycles[-1] <= 400
