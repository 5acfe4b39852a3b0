"""`finn-resnet verify`: the C++ of a build against its model, again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finn_resnet.commands.terminal import (
    COUNT,
    cpp_faults,
    display,
    display_options,
    fail_result,
    print_json,
    verification_exit,
)

if TYPE_CHECKING:
    from finn_resnet.build.verify_output import OutputCheck


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--images", metavar="PATH", help="Image set (.npz, .npy or a folder).")
@click.option("--num", type=COUNT, help="Number of images.  [10]")
@click.option("--ap-int", is_flag=True, help="Compile with the vendor's integer headers.")
@display_options
def verify(
    output_dir: str, images: str | None, num: int | None, ap_int: bool, **chosen_display: bool
) -> int:
    """Compare the C++ of a build with its model again, on images of your choice.

    Every tensor of integers is compared, code by code, and the bytes of the output port
    (docs/equality.md). The C++ is taken as it lies in the folder, so
    a change to it is found. report.json and report.html are updated; the exit code is 1 where a
    code or a label differs.
    """
    from finn_resnet.build import report_sections
    from finn_resnet.build.finished_build import FinishedBuild
    from finn_resnet.build.rtl_output import verify_rtl_output
    from finn_resnet.build.verify_output import verify_output
    from finn_resnet.report import read_report
    from finn_resnet.report.html import write_html_report

    build = FinishedBuild.open(output_dir)
    chosen = {"verify_images": images, "verify_num_images": num}
    steps = ["ap_int" if ap_int else "native"]
    given = {key: value for key, value in chosen.items() if value is not None}
    cfg = build.config.replace(verify_steps=steps, **given)
    try:
        with display(**chosen_display) as shown:
            shown.begin("verify", 1, 1)
            check = verify_output(build.hardware_graph(), cfg, ap_int=ap_int)
            rtl = verify_rtl_output(build.hardware_graph(), cfg) if cfg.backend == "rtl" else {}
    except cpp_faults() as fault:
        return fail_result(str(fault))
    report_sections.record_verification({steps[0]: check}, cfg)
    write_html_report(output_dir)
    if chosen_display["as_json"]:
        print_json(read_report(output_dir)["verification"])
    elif not chosen_display["quiet"]:
        click.echo("\n".join(_lines(check, cfg.output_dir)))
    return verification_exit(check.verification.failure or rtl.get("failure"))


def _lines(check: OutputCheck, output_dir: str) -> list[str]:
    from finn_resnet.report.report_file import read_report
    from finn_resnet.report.verification_line import rtl_simulation_line, verification_line

    result = check.verification
    report = read_report(output_dir)
    lines = [verification_line(report["verification"])]
    if report["backend"] == "rtl":
        lines.append(rtl_simulation_line(report["rtl_simulation"]))
    if check.changed_codes:
        lines.append(f"{check.changed_codes:,} codes changed from the original model, as asked for")
    if result.accuracy_accelerator is not None:
        lines.append(
            f"accuracy {100 * result.accuracy_accelerator:.2f} %, of the model "
            f"{100 * result.accuracy_reference:.2f} %"
        )
    return lines
