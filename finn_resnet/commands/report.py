"""`finn-resnet report`: the report of a build."""

from __future__ import annotations

import json

import click

from finn_resnet.commands.terminal import console


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--json", "as_json", is_flag=True, help="Print report.json instead of tables.")
def report(output_dir: str, as_json: bool) -> None:
    """Show the report of a build."""
    from finn_resnet.report import read_report

    content = read_report(output_dir)
    if as_json:
        click.echo(json.dumps(content, indent=2))
        return
    from finn_resnet.report.table import print_report

    print_report(content, console())
