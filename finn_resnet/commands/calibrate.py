"""`finn-resnet calibrate`: a vendor's reports against the cost model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from finn_resnet.commands.terminal import console, display, display_options, print_json

_FOLDER = "calibration"
_FILE = "coefficients.json"


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--csynth", metavar="XML", help="csynth.xml of Vitis HLS.  [as make hls leaves it]")
@click.option("--utilisation", metavar="RPT", help="Vivado's report_utilization.  [make bitstream]")
@click.option("--timing", metavar="RPT", help="Vivado's report_timing_summary.  [make bitstream]")
@display_options
def calibrate(output_dir: str, **options: Any) -> int:
    """Compare a build with what Vitis HLS and Vivado say of it, and learn from that.

    Reads pipeline depths, intervals and resources, compares them with the cost model (section
    `calibration` of report.json), and writes calibration/coefficients.json for the configuration
    key `coefficients_file`, and in calibration/hls the design once more with its streams sized for
    the real pipeline depths.
    """
    from finn_resnet.build.finished_build import FinishedBuild
    from finn_resnet.calibration import calibrate as compare
    from finn_resnet.calibration import find_reports
    from finn_resnet.calibration.resize import resize
    from finn_resnet.parallelism.coefficients import calibrated
    from finn_resnet.report.report_file import update_report

    build = FinishedBuild.open(output_dir)
    given = {name: options[name] for name in ("csynth", "utilisation", "timing")}
    reports = find_reports(build.folder) | {n: Path(p) for n, p in given.items() if p}
    folder = build.folder / _FOLDER
    with calibrated(build.config.coefficients_file):
        found = compare(build, reports)
        section = {**found.section, "sizing": None}
        folder.mkdir(exist_ok=True)
        if "task_depths" in found.entries:
            with display(options["quiet"], options["verbose"]) as shown:
                shown.begin("size streams", 1, 1)
                section["sizing"] = resize(build, found.entries, folder)
    (folder / _FILE).write_text(found.text, encoding="utf-8")
    update_report(build.folder, "calibration", section)
    if options["as_json"]:
        print_json(section)
    elif not options["quiet"]:
        _show(section, folder / _FILE)
    return 0


def _show(section: dict[str, Any], file: Path) -> None:
    """Totals against the model, the clock, what the streams gained, and how to go on."""
    from rich.table import Table

    table = Table(title="Measured against the cost model", title_justify="left")
    for name in ("resource", "model, low", "model, high", "measured"):
        table.add_column(name, justify="left" if name == "resource" else "right")
    for name, row in section["totals"].items():
        table.add_row(name, *(f"{row[key]:,.0f}" for key in ("low", "high", "measured")))
    screen = console()
    screen.print(table)
    late = [t for t in section["tasks"] if (t["interval"] or 1) > 1]
    if late:
        names = ", ".join(f"{t['name']} (II = {t['interval']})" for t in late)
        screen.print(f"slower than one iteration a cycle: {names}")
    if section["unmatched_tasks"]:
        screen.print(f"not in the report: {', '.join(section['unmatched_tasks'])}")
    if section["clock"]:
        clock = section["clock"]
        screen.print(f"clock: {clock['reached_mhz']:.1f} MHz of {clock['assumed_mhz']:g} assumed")
    if section["sizing"]:
        screen.print(section["sizing"]["summary"])
    screen.print(f'for the next build: "coefficients_file": "{file}"')
