"""`finn-resnet boards`, `models`, `configs`, `config-reference`: what comes with the package."""

from __future__ import annotations

import json

import click

from finn_resnet.commands.terminal import console


@click.command()
def boards() -> None:
    """List the boards with their parts, clocks and budgets."""
    from rich.table import Table

    from finn_resnet.boards import known_boards, load_board
    from finn_resnet.report.table import RESOURCES

    table = Table("board", "also", "part", "MHz", *RESOURCES.values())
    for name in known_boards():
        board = load_board(name)
        budget = board.budget.as_dict()
        table.add_row(
            board.name,
            ", ".join(board.aliases),
            board.part,
            f"{board.clock_mhz:g}",
            *(f"{budget[key]:,}" for key in RESOURCES),
        )
    console().print(table)


@click.command()
def models() -> None:
    """List the models that come with the package."""
    from finn_resnet.model_source import shipped_models

    for name, path in shipped_models().items():
        click.echo(f"{name}  {path}")


@click.command()
def configs() -> None:
    """List the build configurations that come with the package."""
    from finn_resnet.config import shipped_configs

    for name, path in shipped_configs().items():
        click.echo(f"{name}  {path}")


@click.command("config-reference")
@click.option("--markdown", is_flag=True, help="The page docs/config.md instead of JSON schema.")
def config_reference(markdown: bool) -> None:
    """Print the JSON schema of a build configuration, for editors and other programs."""
    from finn_resnet.config import json_schema, markdown_reference

    click.echo(markdown_reference() if markdown else json.dumps(json_schema(), indent=2), nl=False)
    if not markdown:
        click.echo()
