"""The result of a cycle-level simulation as text for a terminal."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

_BUSIEST = 12


def simulation_line(section: dict[str, Any]) -> str:
    """One line with rate and latency, or with what went wrong.

    Args:
        section: `simulation` of report.json.
    """
    if section["deadlock"]:
        return section["deadlock"]
    if section["cycles_per_frame"] is None:
        return f"stopped after {section['finished_frames']} of {section['frames']} frames"
    steady = "steady" if section["is_steady"] else "not yet steady"
    frames = f"{section['frames']:,} frames"
    if section["interrupted"]:
        frames = f"the first {section['finished_frames']:,} of {frames}, then interrupted"
    return (
        f"{section['cycles_per_frame']:,} cycles per frame ({steady}), {section['fps']:,.0f} "
        f"frames/s, latency {section['latency_cycles']:,} cycles, bottleneck "
        f"{section['bottleneck']}, no deadlock in {frames}{_band_words(section.get('band'))}"
    )


def _band_words(band: dict[str, Any] | None) -> str:
    """What holds if the vendor's tool schedules other pipelines than modelled."""
    if band is None:
        return ""
    if band["deadlocks"]:
        return "; other pipeline depths deadlock"
    proof = "no deadlock" if band["is_proven"] else "no deadlock found"
    return (
        f"; with other pipeline depths {proof}, {band['worst_fps']:,.0f} frames/s at the worst "
        "point simulated"
    )


def render_simulation(section: dict[str, Any]) -> RenderableType:
    """The line, the busiest tasks with their stalls, and the streams of residual branches."""
    return Group(simulation_line(section), _task_table(section), _skip_table(section))


def _task_table(section: dict[str, Any]) -> Table:
    table = Table(
        title=f"Cycles of the {_BUSIEST} busiest tasks in the last frame",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
    )
    table.add_column("task", overflow="fold")
    for name in ("busy", "waiting for input", "waiting for space"):
        table.add_column(name, justify="right")
    busiest = sorted(section["tasks"], key=lambda task: -task["busy_cycles"])[:_BUSIEST]
    for task in busiest:
        cycles = ("busy_cycles", "stalled_on_input_cycles", "stalled_on_output_cycles")
        table.add_row(task["name"], *(f"{task[key]:,}" for key in cycles))
    return table


def _skip_table(section: dict[str, Any]) -> Table:
    table = Table(
        title="Streams of residual branches", title_justify="left", box=SIMPLE_HEAD, show_edge=False
    )
    table.add_column("stream", overflow="fold")
    for name in ("depth", "most tokens held", "bits per token"):
        table.add_column(name, justify="right")
    for stream in section["streams"]:
        if stream["kind"] == "skip":
            values = ("depth", "max_occupancy", "width_bits")
            table.add_row(stream["name"], *(f"{stream[key]:,}" for key in values))
    return table
