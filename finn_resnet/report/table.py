"""The report of a build as tables for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from finn_resnet.custom_ops import is_helper
from finn_resnet.report.simulation_table import simulation_line
from finn_resnet.report.verification_line import rtl_simulation_line, verification_line

RESOURCES = {"dsp": "DSP", "lut": "LUT", "ff": "FF", "bram36": "BRAM36", "uram": "URAM"}

_COLUMNS = ("och_par", "ich_par", "ow_par", "mac_style", "mem_style", "cycles", *RESOURCES)
# What of them fits a terminal narrower than `_WIDE`.
_WIDE = 100
_NARROW_COLUMNS = ("cycles", "dsp", "lut", "bram36")


_SIMULATED = ("simulation of the C++", "schedule of the RTL")


def print_report(report: dict[str, Any], console: Console) -> None:
    """Print a report (the content of report.json) on `console`."""
    console.print(render_report(report, console.width))


def render_report(report: dict[str, Any], width: int = 160) -> RenderableType:
    """Tables and lines of a report, for a terminal of `width` characters.

    Sections that were not run say so.
    """
    parts: list[RenderableType] = [_headline(report)]
    if report["layers"] is not None:
        parts.append(_layer_table(report, width))
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


def grouped_layers(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each layer: its window buffer, parameter task and adapters are summed into it.

    The generated helpers are named after the layer they serve. One without a layer of that name
    (the parameters of a merged downsample) stands alone. `cycles` is the largest of a group,
    `members` the names in it.
    """
    owners = [layer["name"] for layer in layers if not is_helper(layer["op"])]
    groups: dict[str, dict[str, Any]] = {}
    # Layers first, so that their own factors and style are the group's.
    for layer in sorted(layers, key=lambda layer: is_helper(layer["op"])):
        serves = [name for name in owners if layer["name"].startswith(f"{name}_")]
        owner = max(serves, key=len) if is_helper(layer["op"]) and serves else layer["name"]
        group = groups.setdefault(
            owner, {**layer, "members": [], "cycles": 0, **dict.fromkeys(RESOURCES, 0)}
        )
        group["members"].append(layer["name"])
        group["cycles"] = max(group["cycles"], layer["cycles"])
        group["mem_style"] = group["mem_style"] or layer["mem_style"]
        for key in RESOURCES:
            group[key] += layer[key]
    order = {layer["name"]: index for index, layer in enumerate(layers)}
    return sorted(groups.values(), key=lambda g: (is_helper(g["op"]), order[g["name"]]))


def _layer_table(report: dict[str, Any], width: int) -> Table:
    table = Table(
        title="Layers by the cost model: unroll factors och, ich, ow; dsp x2: 2 products a DSP",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("layer", overflow="fold", min_width=11)
    resources = [name.removesuffix("36") for name in RESOURCES.values()]
    names = dict(
        zip(_COLUMNS, ("och", "ich", "ow", "mac", "mem", "cycles", *resources), strict=True)
    )
    columns = _COLUMNS if width >= _WIDE else _NARROW_COLUMNS
    for key in columns:
        table.add_column(names[key], justify="right", no_wrap=True)
    bottleneck = (report["throughput"] or {}).get("bottleneck")
    for group in grouped_layers(report["layers"]):
        cells = {name: _cell(group[name]) for name in _COLUMNS}
        if group.get("products_per_dsp"):
            cells["mac_style"] += f" x{group['products_per_dsp']}"
        table.add_row(
            group["name"],
            *(cells[key] for key in columns),
            style="bold yellow" if bottleneck in group["members"] else None,
        )
    return table


def _resource_table(report: dict[str, Any]) -> Table:
    totals, budget = report["totals"], (report["board"] or {}).get("budget") or {}
    table = Table(
        title="Resources by the cost model",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in ("resource", "used", "at least", "of", "share"):
        table.add_column(name, justify="left" if name == "resource" else "right")
    for key, label in RESOURCES.items():
        available = budget.get(key, 0)
        share = f"{100 * totals[key] / available:.1f} %" if available else ""
        style = "bold red" if totals[key] > available else None
        low = totals.get("low", totals)[key]
        table.add_row(label, _cell(totals[key]), _cell(low), _cell(available), share, style=style)
    return table


def result_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """(label, line) for every result of a build; one that was not run says so."""
    return [
        ("throughput (cost model)", _throughput_line(report["throughput"])),
        ("parallelism search", _parallelism_line(report["optimisations"])),
        (_SIMULATED[report["backend"] == "rtl"], _simulation_line(report["simulation"])),
        ("verification", verification_line(report["verification"])),
        *_rtl_lines(report),
        ("stream sizing", _sizing_line(report["optimisations"])),
        ("stream buffers", _buffer_line(report["totals"])),
        ("skip buffers by formula", _formula_line(report["optimisations"])),
        ("optimisations", _optimisation_line(report["optimisations"])),
        ("time", _time_line(report["timings_s"])),
    ]


def _rtl_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    if report["backend"] != "rtl":
        return []
    return [("RTL in Verilator", rtl_simulation_line(report["rtl_simulation"]))]


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
        f"{section['cycles_per_frame']:,} cycles per frame, {section['fps']:,.0f} frames/s "
        f"if the clock holds ({1e6 / section['cycles_per_frame']:,.1f} per MHz), "
        f"bottleneck {section['bottleneck']}"
    )


def _simulation_line(section: dict[str, Any] | None) -> str:
    if section is None:
        return "not run: the rate and the stream depths are unproven"
    return simulation_line(section)


def _buffer_line(totals: dict[str, Any] | None) -> str:
    if totals is None:
        return "not generated"
    return (
        f"skip connections {totals['skip_buffer_bits']:,} bits, window buffers "
        f"{totals['window_buffer_bits']:,} bits"
    )


def _parallelism_line(section: dict[str, Any] | None) -> str:
    found = (section or {}).get("parallelism")
    if found is None:
        return "not run: factors set by hand"
    return (
        f"{found['mode']} mode, {found['cycles']:,} cycles; none below "
        f"{found['cycles_lower_bound']:,} (linear bound); resources within "
        f"{100 * found['resource_gap']:.1f} % of the least at this rate (HiGHS)"
    )


def _sizing_line(section: dict[str, Any] | None) -> str:
    sizing = (section or {}).get("size_streams")
    return sizing["summary"] if sizing else "not run: depths of the published formulas"


def _formula_line(section: dict[str, Any] | None) -> str:
    """Storage of the skip connections before the first and after the last optimisation."""
    steps = [facts for facts in (section or {}).values() if "formula_skip_bits_before" in facts]
    if not steps or not steps[0]["formula_skip_bits_before"]:
        return "no residual branch"
    before, after = steps[0]["formula_skip_bits_before"], steps[-1]["formula_skip_bits_after"]
    blocks = [steps[0]["formula_skip_bram36_before"], steps[-1]["formula_skip_bram36_after"]]
    return (
        f"{before:,} bits ({blocks[0]:g} BRAM36 by the cost model) without the optimisations, "
        f"{after:,} ({blocks[1]:g}) with them (ratio {after / before:.3f})"
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
