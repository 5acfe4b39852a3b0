"""`finn-resnet check-hls`: whether the C++ of a build can start an iteration every cycle."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from finn_resnet.commands.terminal import console, display_options, fail_result, silence_libraries

if TYPE_CHECKING:
    from finn_resnet.schedule_check.check import TaskSchedule


@click.command("check-hls")
@click.argument("output_dir", metavar="OUTPUT_DIR")
@display_options
def check_hls(output_dir: str, quiet: bool, verbose: bool, as_json: bool) -> int:
    """Check that every loop of a build's C++ can be pipelined as simulated.

    The synthesis path of every task is compiled with an ordinary clang (14 to 18; Debian's
    clang-14, or the package ziglang 0.13), and its optimised form is looked at: constant trip
    counts, no loop inside a pipelined one, multipliers as the cost model counts them, accesses to
    each memory, length of the recurrences. No vendor tool is needed; none is replaced.
    """
    from finn_resnet.build.finished_build import FinishedBuild
    from finn_resnet.output_folder import HLS_FOLDER
    from finn_resnet.schedule_check.check import check_schedule
    from finn_resnet.schedule_check.multipliers import expected_multipliers

    silence_libraries(verbose)
    build = FinishedBuild.open(output_dir)
    expected = expected_multipliers(build.hardware_graph())
    found = check_schedule(build.folder / HLS_FOLDER, build.config.clock_mhz, expected)
    if as_json:
        click.echo(json.dumps([asdict(task) for task in found], indent=2))
    elif not quiet:
        _print(found)
    faults = [f"{task.name}: {fault}" for task in found for fault in task.faults]
    for fault in faults:
        click.echo(f"error: {fault}", err=True)
    if faults:
        return fail_result(f"{len(faults)} places keep the C++ of '{output_dir}' from II = 1")
    return 0


def _print(found: list[TaskSchedule]) -> None:
    from rich.table import Table

    table = Table("task")
    for name in ("iterations", "multipliers", "operands", "accesses", "levels", "ns", "faults"):
        table.add_column(name, justify="right")
    for task in found:
        table.add_row(
            task.name,
            " + ".join(f"{count:,}" for count in task.loops),
            f"{task.multipliers:,}",
            "x".join(map(str, task.widest)) if task.multipliers else "",
            str(task.most_accesses),
            str(task.recurrence.levels),
            f"{task.recurrence.ns:.2f}",
            str(len(task.faults)),
        )
    console().print(table)
