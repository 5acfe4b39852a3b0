"""`finn-resnet explore`: Pareto sweep over budgets and boards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finn_resnet.commands.terminal import COUNT, console, display, display_options, print_json

if TYPE_CHECKING:
    from finn_resnet.parallelism.explore import SweepResult


@click.command()
@click.argument("source", metavar="MODEL|OUTPUT_DIR")
@click.option(
    "--board",
    "boards",
    multiple=True,
    help="Board; may be repeated.  [KV260 and Ultra96, or the build's own]",
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(["paper", "full"]),
    multiple=True,
    default=("paper", "full"),
    help="May be repeated.  [both]",
)
@click.option(
    "--share",
    "shares",
    type=float,
    multiple=True,
    default=(0.25, 0.5, 0.75, 1.0),
    help="Share of the usual caps; may be repeated.  [0.25 0.5 0.75 1]",
)
@click.option(
    "--coefficients-file",
    metavar="JSON",
    help="Coefficients of the cost model, as calibrate writes them.  [the build's own, or shipped]",
)
@click.option("--output-dir", help="Folder of the results; a later sweep adds to it.")
@click.option("--workers", type=COUNT, help="Parallel processes.  [all cores]")
@click.option("--scheduler", help="Address of a dask scheduler instead (extra dask).")
@display_options
def explore(source: str, boards: tuple[str, ...], output_dir: str | None, **options: Any) -> None:
    """Sweep budgets and boards: cycles against DSP, LUT and block RAM, by the cost model.

    Every combination of board, mode, share of DSPs and share of the other resources is searched
    once; an interrupted sweep goes on where it stopped. Writes points.csv, pareto.json and a
    plot. For the OUTPUT_DIR of a build the plot joins its report.html.
    """
    from dataclasses import asdict, replace

    from finn_resnet.build.explore_output import explore_subject, find_subject
    from finn_resnet.report.html import write_html_report

    with display(options["quiet"], options["verbose"]) as shown:
        shown.begin("explore", 1, 1)
        subject = find_subject(source)
        if boards:
            subject = replace(subject, boards=boards)
        if options["coefficients_file"] is not None:
            subject = replace(subject, coefficients_file=options["coefficients_file"])
        if output_dir is not None:
            subject = replace(subject, folder=Path(output_dir), is_build=False)
        front = explore_subject(
            subject,
            options["modes"],
            options["shares"],
            options["workers"],
            options["scheduler"],
        )
    if subject.is_build:
        write_html_report(source)
    if options["as_json"]:
        print_json({"folder": str(subject.folder), "pareto": [asdict(point) for point in front]})
    elif not options["quiet"]:
        _print_front(front)
        click.echo(f"written to {subject.folder}")


def _print_front(front: Sequence[SweepResult]) -> None:
    from rich.table import Table

    table = Table(title="Pareto front (cost model)", title_justify="left")
    for name in ("board", "mode", "cycles", "frames/s", "DSP", "LUT", "BRAM36"):
        table.add_column(name, justify="left" if name in ("board", "mode") else "right")
    for point in front:
        figures = (point.cycles, point.fps, point.dsp, point.lut)
        cells = [f"{figure:,.0f}" for figure in figures]
        table.add_row(point.board, point.mode, *cells, f"{point.bram36:,.1f}")
    console().print(table)
