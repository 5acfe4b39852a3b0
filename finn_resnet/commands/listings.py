"""`finn-resnet boards`, `models`, `configs`, `config-reference`: what comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from finn_resnet.commands.terminal import console, display_options, print_json


@click.command()
@click.option("--template", metavar="BOARD", help="Print a board's file, to start one of your own.")
@click.option("--markdown", is_flag=True, help="Print the page docs/boards.md: the keys of a file.")
@display_options
def boards(template: str | None, markdown: bool, as_json: bool, quiet: bool, verbose: bool) -> None:
    """List the boards with their parts, clocks and budgets.

    A board of your own is a JSON file, given as --board FILE.json:
    finn-resnet boards --template KV260 > mine.json
    """
    from finn_resnet.boards import board_file, known_boards, load_board
    from finn_resnet.boards.reference import markdown_reference

    if template is not None:
        click.echo(board_file(template).read_text(encoding="utf-8"), nl=False)
    elif markdown:
        click.echo(markdown_reference(), nl=False)
    else:
        _list_boards([load_board(name) for name in known_boards()], as_json, quiet)


def _list_boards(known: list[Any], as_json: bool, quiet: bool) -> None:
    from dataclasses import asdict

    from rich.table import Table

    from finn_resnet.report.table import RESOURCES

    if as_json:
        print_json([asdict(board) for board in known])
    if as_json or quiet:
        return
    table = Table("board", "also", "part", "MHz", *RESOURCES.values())
    for board in known:
        budget = board.budget.as_dict()
        amounts = (f"{budget[key]:,}" for key in RESOURCES)
        also = ", ".join(board.aliases)
        table.add_row(board.name, also, board.part, f"{board.clock_mhz:g}", *amounts)
    console().print(table)


def _list_files(found: dict[str, Path], as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json({name: str(path) for name, path in found.items()})
    elif not quiet:
        for name, path in found.items():
            click.echo(f"{name}  {path}")


@click.command()
@display_options
def models(as_json: bool, quiet: bool, verbose: bool) -> None:
    """List the models that come with the package."""
    from finn_resnet.model_source import shipped_models

    _list_files(shipped_models(), as_json, quiet)


@click.command()
@display_options
def configs(as_json: bool, quiet: bool, verbose: bool) -> None:
    """List the build configurations that come with the package."""
    from finn_resnet.config import shipped_configs

    _list_files(shipped_configs(), as_json, quiet)


@click.command("config-reference")
@click.option("--markdown", is_flag=True, help="The page docs/config.md instead of JSON schema.")
@display_options
def config_reference(markdown: bool, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Print the JSON schema of a build configuration, for editors and other programs."""
    from finn_resnet.config import json_schema, markdown_reference

    if quiet:
        return
    if markdown and not as_json:
        click.echo(markdown_reference(), nl=False)
    else:
        print_json(json_schema())
