"""Two builds side by side: the figures that decide between them."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

_FIGURES = {
    "clock (MHz)": ("board", "clock_mhz"),
    "cycles per frame, cost model": ("throughput", "cycles_per_frame"),
    "cycles per frame, simulated": ("simulation", "cycles_per_frame"),
    "frames/s, simulated": ("simulation", "fps"),
    "latency (cycles), simulated": ("simulation", "latency_cycles"),
    "DSP": ("totals", "dsp"),
    "LUT": ("totals", "lut"),
    "FF": ("totals", "ff"),
    "BRAM36": ("totals", "bram36"),
    "URAM": ("totals", "uram"),
    "skip buffers (bits)": ("totals", "skip_buffer_bits"),
    "window buffers (bits)": ("totals", "window_buffer_bits"),
    "codes that differ": ("verification", "mismatched_codes"),
}


def compare_reports(one: dict[str, Any], other: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Figure -> `first`, `second` and `change` in percent; None where a report has no figure."""
    found = {}
    for name, (section, key) in _FIGURES.items():
        first, second = ((report[section] or {}).get(key) for report in (one, other))
        change = None if first is None or not second else round(100 * (first / second - 1), 2)
        found[name] = {"first": first, "second": second, "change": change}
    return found


def comparison_table(found: dict[str, dict[str, Any]], first: str, second: str) -> Table:
    """The comparison for a terminal; `first` and `second` name the builds."""
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    table.add_column("figure")
    for name in (first, second, "change"):
        table.add_column(name, justify="right", overflow="fold")
    for name, row in found.items():
        change = "" if row["change"] is None else f"{row['change']:+.1f} %"
        table.add_row(name, _cell(row["first"]), _cell(row["second"]), change)
    return table


def _cell(value: float | None) -> str:
    if value is None:
        return "not run"
    return f"{value:,.1f}" if value != int(value) else f"{int(value):,}"
