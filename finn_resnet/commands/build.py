"""`finn-resnet build`: from a model or a configuration to an accelerator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from finn_resnet.commands.terminal import (
    console,
    display,
    display_options,
    print_json,
    verification_exit,
)
from finn_resnet.errors import UserError

if TYPE_CHECKING:
    from finn_resnet.build import BuildResult

_SWITCHES = {"on": True, "off": False}


@click.command()
@click.argument("source", metavar="CONFIG.json|MODEL")
@click.option("--board", help="Target board, e.g. KV260 or Ultra96.")
@click.option("--output-dir", help="Folder to write; replaced as a whole.  [output_MODEL_BOARD]")
@click.option("--mode", help="Parallelism search: full or paper.  [full]")
@click.option("--backend", help="What is generated: hls (C++) or rtl (SystemVerilog).  [hls]")
@click.option("--clock-mhz", type=float, help="Clock in MHz.  [the board's]")
@click.option("--target-fps", type=float, help="Fewest resources that reach this frame rate.")
@click.option("--folding", metavar="JSON", help="Parallelism by hand, FINN-style JSON file.")
@click.option(
    "--cap",
    "caps",
    metavar="RESOURCE=PERCENT",
    multiple=True,
    help="Greatest share of dsp, lut, ff, bram36 or uram; may be repeated.",
)
@click.option(
    "--optimise",
    metavar="NAME=VALUE",
    multiple=True,
    help="merge_downsample=on|off, forward_window_buffer=on|off, "
    "absorb_add=on|off|exact|accumulator; may be repeated.",
)
@click.option("--images", metavar="PATH", help="Images to verify on (.npz, .npy or a folder).")
@click.option("--num-images", type=int, help="Number of images to verify.")
@click.option("--skip-verification", is_flag=True, help="Do not compare the C++ with the model.")
@click.option(
    "--set",
    "assignments",
    metavar="KEY=JSON",
    multiple=True,
    help="Any configuration key (docs/config.md); may be repeated.",
)
@display_options
def build(source: str, quiet: bool, verbose: bool, as_json: bool, **options: Any) -> int:
    """Build an accelerator from a configuration or a model.

    CONFIG.json is a file or the name of a shipped configuration (finn-resnet configs); MODEL is a
    QONNX file or the name of a shipped model and needs --board. Options win over the
    configuration. The output folder holds the HLS C++ project, the graph after every step and
    report.json; it is replaced only by a finished build.
    """
    from finn_resnet.build import build as build_accelerator

    config = _build_config(source, _overrides(options))
    with display(quiet, verbose):
        result = build_accelerator(config)
    return _conclude(result, quiet, as_json)


def _build_config(source: str, overrides: dict[str, Any]) -> Any:
    from finn_resnet.config import BuildConfig, load_config, shipped_configs
    from finn_resnet.config.keys import check_key

    for name in overrides:
        check_key(name, "--set")
    if source.endswith(".json") or source in shipped_configs():
        return load_config(source, overrides)
    if "board" not in overrides:
        raise UserError(
            f"a build of model '{source}' needs a board; add --board (finn-resnet boards lists "
            "them), or give a configuration (finn-resnet configs)"
        )
    return BuildConfig(**{**overrides, "model": source})


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Configuration keys of the options that were given."""
    named = {
        "board": options["board"],
        "output_dir": options["output_dir"],
        "mode": options["mode"],
        "backend": options["backend"],
        "target_fps": options["target_fps"],
        "folding_config_file": options["folding"],
        "verify_images": options["images"],
        "verify_num_images": options["num_images"],
    }
    overrides = {key: value for key, value in named.items() if value is not None}
    if options["clock_mhz"] is not None:
        if not options["clock_mhz"] > 0:
            raise UserError(f"--clock-mhz {options['clock_mhz']:g} is not above 0; give MHz")
        overrides["synth_clk_period_ns"] = 1000 / options["clock_mhz"]
    if options["caps"]:
        overrides["caps"] = dict(_split("--cap", text, _parse_json) for text in options["caps"])
    if options["optimise"]:
        overrides["optimisations"] = dict(
            _split("--optimise", text, lambda word: _SWITCHES.get(word, word))
            for text in options["optimise"]
        )
    if options["skip_verification"]:
        overrides["verify_steps"] = []
    overrides.update(_split("--set", text, _parse_json) for text in options["assignments"])
    return overrides


def _split(option: str, text: str, parse: Callable[[str], Any]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"{option} '{text}' is not of the form NAME=VALUE")
    return name, parse(value)


def _parse_json(text: str) -> Any:
    """JSON, or the text itself where it is no JSON: `mode=paper` needs no inner quotes."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _conclude(result: BuildResult, quiet: bool, as_json: bool) -> int:
    from finn_resnet.report.table import print_report

    if as_json:
        print_json({"output_dir": str(result.output_dir), "report": result.report})
    elif not quiet:
        print_report(result.report, console())
        click.echo(f"written to {result.output_dir}")
    return verification_exit(result.failure)
