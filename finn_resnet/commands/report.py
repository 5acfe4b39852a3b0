"""`finn-resnet report`: the report of a build."""

from __future__ import annotations

import click

from finn_resnet.commands.terminal import console, display_options, print_json


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--compare", metavar="OUTPUT_DIR", help="An earlier build to compare with.")
@display_options
def report(output_dir: str, compare: str | None, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Show the report of a build, or compare it with another's.

    The page report.html in the folder shows it with pictures.
    """
    from finn_resnet.report import read_report
    from finn_resnet.report.compare import compare_reports, comparison_table
    from finn_resnet.report.table import render_report

    content = read_report(output_dir)
    if compare is not None:
        content = compare_reports(content, read_report(compare))
    if as_json:
        print_json(content)
    elif compare is not None and not quiet:
        console().print(comparison_table(content, output_dir, compare))
    elif not quiet:
        console().print(render_report(content))
