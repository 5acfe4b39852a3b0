"""The report of a build as tables for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

RESOURCES = {"dsp": "DSP", "lut": "LUT", "ff": "FF", "bram36": "BRAM36", "uram": "URAM"}

_FACTORS = ("och_par", "ich_par", "ow_par", "mac_style", "mem_style")


def print_report(report: dict[str, Any], console: Console) -> None:
    """Print a report (the content of report.json) on `console`."""
    console.print(render_report(report))


def render_report(report: dict[str, Any]) -> RenderableType:
    """Tables and lines of a report; sections that were not run say so."""
    parts: list[RenderableType] = [_headline(report)]
    if report["layers"] is not None:
        parts.append(_layer_table(report))
    if report["totals"] is not None:
        parts.append(_resource_table(report))
    parts.append(_result_table(report))
    return Group(*parts)


def _headline(report: dict[str, Any]) -> Text:
    model, board = report["model"] or {}, report["board"] or {}
    line = Text()
    line.append(Path(model.get("path", "model")).name, style="bold")
    if model.get("macs"):
        line.append(f"  {model['macs']:,} MACs per frame, {model['params']:,} parameters")
    if board:
        line.append("  on ")
        line.append(str(board["name"]), style="bold")
        line.append(f" ({board['part']}) at {board['clock_mhz']:g} MHz")
    return line


def _layer_table(report: dict[str, Any]) -> Table:
    table = Table(title="Layers (cycles and resources: cost model)", title_justify="left")
    table.add_column("layer")
    table.add_column("op")
    for name in _FACTORS:
        table.add_column(name.removesuffix("_style"), justify="right")
    for name in ("cycles", *RESOURCES.values()):
        table.add_column(name, justify="right")
    bottleneck = (report["throughput"] or {}).get("bottleneck")
    for layer in report["layers"]:
        table.add_row(
            layer["name"],
            layer["op"],
            *(_cell(layer[name]) for name in _FACTORS),
            *(_cell(layer[name]) for name in ("cycles", *RESOURCES)),
            style="bold yellow" if layer["name"] == bottleneck else None,
        )
    return table


def _resource_table(report: dict[str, Any]) -> Table:
    totals, budget = report["totals"], (report["board"] or {}).get("budget") or {}
    table = Table(title="Resources (cost model)", title_justify="left")
    for name in ("resource", "used", "of", "share"):
        table.add_column(name, justify="left" if name == "resource" else "right")
    for key, label in RESOURCES.items():
        available = budget.get(key, 0)
        share = f"{100 * totals[key] / available:.1f} %" if available else ""
        table.add_row(label, _cell(totals[key]), _cell(available), share)
    return table


def result_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """(label, line) for every result of a build; one that was not run says so."""
    return [
        ("throughput (cost model)", _throughput_line(report["throughput"])),
        ("simulation of the C++", _simulation_line(report["simulation"])),
        ("verification", _verification_line(report["verification"])),
        ("stream buffers", _buffer_line(report["totals"])),
        ("optimisations", _optimisation_line(report["optimisations"])),
        ("time", _time_line(report["timings_s"])),
    ]


def _result_table(report: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, line in result_lines(report):
        table.add_row(label, line)
    return table


def _throughput_line(section: dict[str, Any] | None) -> str:
    if section is None:
        return "not estimated"
    return (
        f"{section['cycles_per_frame']:,} cycles per frame, {section['fps']:,.0f} frames/s, "
        f"bottleneck {section['bottleneck']}"
    )


def _simulation_line(section: dict[str, Any] | None) -> str:
    if section is None:
        return "not run: the rate and the stream depths are unproven"
    if section["deadlock"]:
        return f"DEADLOCK: {section['deadlock']}"
    return (
        f"{section['cycles_per_frame']:,} cycles per frame, {section['fps']:,.0f} frames/s, "
        f"latency {section['latency_cycles']:,} cycles, no deadlock in {section['frames']} frames"
    )


def _verification_line(section: dict[str, Any] | None) -> str:
    if section is None:
        return "not run: the C++ has not been compared with the model"
    line = (
        f"{section['mismatched_codes']:,} of {section['compared_codes']:,} codes differ on "
        f"{section['images']:,} images"
    )
    if section["first_mismatch"]:
        line += f"; first: {section['first_mismatch']}"
    return line


def _buffer_line(totals: dict[str, Any] | None) -> str:
    if totals is None:
        return "not generated"
    return (
        f"skip connections {totals['skip_buffer_bits']:,} bits, window buffers "
        f"{totals['window_buffer_bits']:,} bits"
    )


def _optimisation_line(section: dict[str, Any] | None) -> str:
    if not section:
        return "none applied"
    words = []
    for name, facts in section.items():
        word = f"{name}: {'on' if facts['applied'] else 'off'}"
        if facts.get("changed_codes"):
            word += f" ({facts['changed_codes']:,} codes changed)"
        words.append(word)
    return ", ".join(words)


def _time_line(section: dict[str, float] | None) -> str:
    if not section:
        return "not measured"
    longest = max(section, key=section.__getitem__)
    return f"{sum(section.values()):.1f} s, longest step {longest} {section[longest]:.1f} s"


def _cell(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.1f}" if value != int(value) else f"{int(value):,}"
