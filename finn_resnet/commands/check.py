"""`finn-resnet check`: what of a model maps to hardware."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from finn_resnet.commands.terminal import (
    EXIT_USER_ERROR,
    console,
    display,
    display_options,
    print_json,
)


@click.command()
@click.argument("model")
@display_options
def check(model: str, quiet: bool, verbose: bool, as_json: bool) -> int:
    """Say what of a model maps to hardware, node by node.

    MODEL is a QONNX file or the name of a shipped model. Every place that does not map is listed
    at once, with the reason and the remedy, and the exit code is 2.
    """
    from finn_resnet.importing import load_model
    from finn_resnet.importing.findings import grouped
    from finn_resnet.lowering import check_model
    from finn_resnet.model_source import find_model

    path = find_model(model)
    with display(quiet=True, verbose=verbose):
        tidy = load_model(path)
        findings = check_model(tidy)
    if as_json:
        _print_json(path, tidy, findings)
        return EXIT_USER_ERROR if findings else 0
    groups = grouped(findings)
    for group in groups:
        click.echo(f"error: {group}", err=True)
    if findings:
        remedies = "; ".join(dict.fromkeys(group.remedy for group in groups))
        click.echo(
            f"{path}: {len(findings)} of its nodes cannot become hardware; to accept it: "
            f"{remedies}",
            err=True,
        )
        return EXIT_USER_ERROR
    if not quiet:
        _print_mapping(tidy)
        click.echo(f"{path}: every node maps to hardware")
    return 0


def _print_json(path: Path, model: Any, findings: Sequence[Any]) -> None:
    from dataclasses import asdict

    nodes = [] if findings else [asdict(mapping) for mapping in _mapping(model)]
    print_json({"model": str(path), "findings": [str(f) for f in findings], "nodes": nodes})


def _mapping(model: Any) -> Sequence[Any]:
    from finn_resnet.lowering.node_mapping import map_nodes
    from finn_resnet.transformation import LowerToHardware

    return map_nodes(model, model.transform(LowerToHardware()))


def _print_mapping(model: Any) -> None:
    from rich.table import Table

    table = Table("node", "operator", "hardware tasks")
    for mapping in _mapping(model):
        table.add_row(mapping.node, mapping.op, " + ".join(mapping.tasks) or "none: relabels codes")
    console().print(table)
