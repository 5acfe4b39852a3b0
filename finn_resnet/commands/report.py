"""`finn-resnet report`: the report of a build."""

from __future__ import annotations

import click

from finn_resnet.commands.terminal import console, display_options, print_json


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@display_options
def report(output_dir: str, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Show the report of a build."""
    from finn_resnet.report import read_report

    content = read_report(output_dir)
    if as_json:
        print_json(content)
    if as_json or quiet:
        return
    from finn_resnet.report.table import print_report

    print_report(content, console())
