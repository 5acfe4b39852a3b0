"""`finn-resnet simulate`: the C++ of a build, cycle by cycle."""

from __future__ import annotations

from typing import Any

import click

from finn_resnet.commands.terminal import (
    EXIT_DEADLOCK,
    EXIT_INTERRUPTED,
    console,
    cpp_faults,
    display,
    display_options,
    fail_result,
    print_json,
)
from finn_resnet.errors import UserError


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--frames", type=int, help="Overlapping frames, at least 3.  [the build's, 4]")
@click.option("--depths", metavar="JSON", help='File of stream depths to try: {"stream": tokens}.')
@click.option("--input-rate", type=float, default=1.0, help="Beats per cycle from memory.  [1]")
@click.option("--output-rate", type=float, default=1.0, help="Beats per cycle to memory.  [1]")
@display_options
def simulate(output_dir: str, depths: str | None, **options: Any) -> int:
    """Run the C++ of a build cycle by cycle, as the hardware would.

    Reports the frame rate, the latency, where tasks wait, and how full streams get; a deadlock is
    reported with the tasks in it and the depths that free it. Without --depths and rates
    report.json and report.html are updated.
    """
    from finn_resnet.build.finished_build import FinishedBuild
    from finn_resnet.build.rtl_output import simulate_rtl_output
    from finn_resnet.build.simulate_output import read_depths, simulate_output
    from finn_resnet.report.html import write_html_report

    build = FinishedBuild.open(output_dir)
    rates = {"input_rate": options["input_rate"], "output_rate": options["output_rate"]}
    chosen = read_depths(depths)
    cfg = build.config
    if options["frames"] is not None:
        cfg = cfg.replace(simulation_frames=options["frames"])
    try:
        with display(options["quiet"], options["verbose"]) as shown:
            shown.begin("simulate", 1, 1)
            if cfg.backend == "rtl":
                _refuse_rates(rates)
                outcome = simulate_rtl_output(build.hardware_graph(), cfg, chosen)
            else:
                outcome = simulate_output(cfg, depths=chosen, **rates)
    except cpp_faults() as fault:
        return fail_result(str(fault))
    write_html_report(output_dir)
    if options["as_json"]:
        print_json(outcome.section)
    elif not options["quiet"]:
        from finn_resnet.report.simulation_table import render_simulation

        console().print(render_simulation(outcome.section))
    if outcome.interrupted:
        return EXIT_INTERRUPTED
    if outcome.section["deadlock"]:
        return fail_result(outcome.section["deadlock"], EXIT_DEADLOCK)
    return 0


def _refuse_rates(rates: dict[str, float]) -> None:
    for name, rate in rates.items():
        if rate != 1:
            option = "--" + name.replace("_", "-")
            raise UserError(
                f"{option} {rate:g}: the schedule of an RTL build knows memory at full rate only; "
                "leave it out"
            )
