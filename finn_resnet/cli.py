"""The command `finn-resnet`.

Heavy imports happen inside the commands, so that `--help` answers at once. Errors of the user are
one line on standard error and exit code 2; a result that is not what was promised (codes that
differ, a deadlock) is exit code 1; faults of ours keep their traceback.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finn_resnet import __version__
from finn_resnet.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from finn_resnet.build import BuildResult
    from finn_resnet.parallelism.explore import SweepResult
    from finn_resnet.verify_output import OutputCheck

EXIT_FAILED = 1
EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130

_COUNT = click.IntRange(min=1)
_SWITCHES = {"on": True, "off": False}


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script: run a command and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; faults of ours pass through as exceptions."""
    try:
        return cli.main(arguments, prog_name="finn-resnet", standalone_mode=False) or 0
    except UserError as error:
        return _fail(str(error))
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Keep the interpreter from complaining on exit.
        sys.stdout = None
        return 0


def _fail(message: str) -> int:
    click.echo("error: " + " ".join(message.split()), err=True)
    return EXIT_USER_ERROR


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="finn-resnet")
def cli() -> None:
    """From a quantised residual CNN (QONNX) to a verified FPGA dataflow accelerator.

    \b
    First steps:
      finn-resnet models                          shipped models
      finn-resnet check MODEL                     what of a model maps to hardware
      finn-resnet build resnet8 --board KV260     build, verify and report
      finn-resnet report output_resnet8_kv260     show the report again
    """


def _display_options(command: Callable[..., Any]) -> Callable[..., Any]:
    quiet = click.option("-q", "--quiet", is_flag=True, help="Show errors only.")
    verbose = click.option("-v", "--verbose", is_flag=True, help="Show warnings of the libraries.")
    return quiet(verbose(command))


def _board_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--board", help="Target board, e.g. KV260 or Ultra96.")(command)


@cli.command()
@click.argument("source", metavar="CONFIG.json|MODEL")
@_board_option
@click.option("--output-dir", help="Folder to write; replaced as a whole.  [output_MODEL_BOARD]")
@click.option("--mode", help="Parallelism search: full or paper.  [full]")
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
@_display_options
def build(source: str, quiet: bool, verbose: bool, **options: Any) -> int:
    """Build an accelerator from a configuration or a model.

    CONFIG.json is a file or the name of a shipped configuration (finn-resnet configs); MODEL is a
    QONNX file or the name of a shipped model and needs --board. Options win over the
    configuration. The output folder holds the HLS C++ project, the graph after every step and
    report.json; it is replaced only by a finished build.
    """
    from finn_resnet.build import build as build_accelerator

    config = _build_config(source, _overrides(options))
    with _display(quiet, verbose):
        result = build_accelerator(config)
    return _conclude(result, quiet)


def _build_config(source: str, overrides: dict[str, Any]) -> Any:
    from finn_resnet.config import BuildConfig, load_config, shipped_configs

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


def _display(quiet: bool, verbose: bool) -> Any:
    import logging
    import warnings

    from finn_resnet import progress

    if not verbose:
        # qonnx and onnxruntime warn about their own workings, which a user cannot act on.
        warnings.simplefilter("ignore")
        logging.getLogger().setLevel(logging.ERROR)
    return progress.use(progress.for_terminal(quiet))


def _conclude(result: BuildResult, quiet: bool) -> int:
    from finn_resnet.report.table import print_report

    if not quiet:
        print_report(result.report, _console())
        click.echo(f"written to {result.output_dir}")
    verification = result.report["verification"] or {}
    return _exit_code(result.mismatched_codes, verification.get("first_mismatch"))


def _console() -> Console:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        # A pipe has no width; do not fold tables to the 80 columns rich assumes.
        console.width = 160
    return console


@cli.command()
@click.argument("model")
@_display_options
def check(model: str, quiet: bool, verbose: bool) -> int:
    """Say what of a model maps to hardware, node by node.

    MODEL is a QONNX file or the name of a shipped model. Every place that does not map is listed
    at once, with the reason and the remedy, and the exit code is 2.
    """
    from finn_resnet.importing import check_model, load_model
    from finn_resnet.model_source import find_model

    path = find_model(model)
    with _display(quiet=True, verbose=verbose):
        tidy = load_model(path)
        findings = check_model(tidy)
    for finding in findings:
        click.echo(f"error: {finding}", err=True)
    if findings:
        click.echo(f"{path}: {len(findings)} of its nodes cannot become hardware", err=True)
        return EXIT_USER_ERROR
    if not quiet:
        _print_mapping(tidy)
        click.echo(f"{path}: every node maps to hardware")
    return 0


def _print_mapping(model: Any) -> None:
    from rich.table import Table

    from finn_resnet.node_mapping import map_nodes

    table = Table("node", "operator", "hardware tasks")
    for mapping in map_nodes(model):
        table.add_row(mapping.node, mapping.op, " + ".join(mapping.tasks) or "none: relabels codes")
    _console().print(table)


@cli.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--images", metavar="PATH", help="Image set (.npz, .npy or a folder).")
@click.option("--num", type=_COUNT, help="Number of images.  [10]")
@click.option("--ap-int", is_flag=True, help="Compile with the vendor's integer headers.")
@_display_options
def verify(
    output_dir: str, images: str | None, num: int | None, ap_int: bool, **display: bool
) -> int:
    """Compare the C++ of a build with its model again, on images of your choice.

    Every quantised tensor is compared, code by code. The C++ is taken as it lies in the folder, so
    a change to it is found. report.json and report.html are updated; the exit code is 1 where a
    code differs.
    """
    from finn_resnet import build_report
    from finn_resnet.finished_build import FinishedBuild
    from finn_resnet.report.html import write_html_report
    from finn_resnet.verify_output import verify_output

    build = FinishedBuild.open(output_dir)
    chosen = {"verify_images": images, "verify_num_images": num}
    steps = ["ap_int" if ap_int else "native"]
    given = {key: value for key, value in chosen.items() if value is not None}
    cfg = build.config.replace(verify_steps=steps, **given)
    with _display(**display) as shown:
        shown.begin("verify", 1, 1)
        check = verify_output(build.hardware_graph(), cfg, ap_int=ap_int)
    build_report.record_verification({steps[0]: check}, cfg)
    write_html_report(output_dir)
    if not display["quiet"]:
        for line in _verification_lines(check):
            click.echo(line)
    result = check.verification
    return _exit_code(result.mismatched_codes, result.first_mismatch)


def _verification_lines(check: OutputCheck) -> list[str]:
    result = check.verification
    lines = [
        f"{result.mismatched_codes:,} of {result.compared_codes:,} codes differ from the "
        f"{check.reference}, in {len(result.compared_tensors)} tensors on {result.images:,} images"
    ]
    if check.changed_codes:
        lines.append(f"{check.changed_codes:,} codes changed from the original model, as asked for")
    if result.accuracy_accelerator is not None:
        lines.append(
            f"accuracy {100 * result.accuracy_accelerator:.2f} %, of the model "
            f"{100 * result.accuracy_reference:.2f} %"
        )
    return lines


def _exit_code(mismatched_codes: int, first_mismatch: Any) -> int:
    if not mismatched_codes:
        return 0
    return _fail_result(
        f"{mismatched_codes:,} codes of the C++ differ from the model; first: {first_mismatch}"
    )


def _fail_result(message: str) -> int:
    click.echo(f"failed: {message}", err=True)
    return EXIT_FAILED


@cli.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--frames", type=int, help="Overlapping frames, at least 3.  [the build's, 4]")
@click.option("--depths", metavar="JSON", help='File of stream depths to try: {"stream": tokens}.')
@click.option("--input-rate", type=float, default=1.0, help="Beats per cycle from memory.  [1]")
@click.option("--output-rate", type=float, default=1.0, help="Beats per cycle to memory.  [1]")
@_display_options
def simulate(output_dir: str, depths: str | None, **options: Any) -> int:
    """Run the C++ of a build cycle by cycle, as the hardware would.

    Reports the frame rate, the latency, where tasks wait, and how full streams get; a deadlock is
    reported with the tasks in it and the depths that free it. Without --depths and rates
    report.json and report.html are updated.
    """
    from finn_resnet.finished_build import FinishedBuild
    from finn_resnet.report.html import write_html_report
    from finn_resnet.simulate_output import read_depths, simulate_output

    build = FinishedBuild.open(output_dir)
    rates = {"input_rate": options["input_rate"], "output_rate": options["output_rate"]}
    chosen = read_depths(depths)
    cfg = build.config
    if options["frames"] is not None:
        cfg = cfg.replace(simulation_frames=options["frames"])
    with _display(options["quiet"], options["verbose"]) as shown:
        shown.begin("simulate", 1, 1)
        outcome = simulate_output(cfg, depths=chosen, **rates)
    write_html_report(output_dir)
    if not options["quiet"]:
        from finn_resnet.report.simulation_table import render_simulation

        _console().print(render_simulation(outcome.section))
    if outcome.interrupted:
        return EXIT_INTERRUPTED
    if outcome.section["deadlock"]:
        if chosen:
            raise UserError(outcome.section["deadlock"])
        return _fail_result(outcome.section["deadlock"])
    return 0


@cli.command()
@click.argument("model")
@click.option("--images", metavar="PATH", required=True, help="Labelled image set.")
@click.option("--num", type=_COUNT, help="Number of images.  [all]")
@_display_options
def evaluate(model: str, images: str, num: int | None, **display: bool) -> None:
    """Measure the accuracy of a quantised model on labelled images.

    MODEL is a QONNX file or the name of a shipped model. It is executed exactly; an accelerator
    that is verified against it has this accuracy.
    """
    from finn_resnet.evaluate import evaluate as evaluate_model
    from finn_resnet.importing import load_model
    from finn_resnet.model_source import find_model

    with _display(**display) as shown:
        shown.begin("evaluate", 1, 1)
        result = evaluate_model(load_model(find_model(model)), images, num)
    click.echo(
        f"{100 * result.accuracy:.2f} % of {result.images:,} images ({result.correct:,} correct, "
        f"executed in {result.precision})"
    )


@cli.command()
@click.argument("source", metavar="MODEL|OUTPUT_DIR")
@click.option("--board", "boards", multiple=True, help="Board; may be repeated.  [all]")
@click.option(
    "--mode",
    "modes",
    type=click.Choice(["paper", "full"]),
    multiple=True,
    default=("paper", "full"),
    help="May be repeated.  [both]",
)
@click.option(
    "--share",
    "shares",
    type=float,
    multiple=True,
    default=(0.25, 0.5, 0.75, 1.0),
    help="Share of the usual caps; may be repeated.  [0.25 0.5 0.75 1]",
)
@click.option("--output-dir", help="Folder of the results; a later sweep adds to it.")
@click.option("--workers", type=_COUNT, help="Parallel processes.  [all cores]")
@click.option("--scheduler", help="Address of a dask scheduler instead (extra dask).")
@_display_options
def explore(source: str, boards: tuple[str, ...], output_dir: str | None, **options: Any) -> None:
    """Sweep budgets and boards: cycles against DSP, LUT and block RAM, by the cost model.

    Every combination of board, mode, share of DSPs and share of the other resources is searched
    once; an interrupted sweep goes on where it stopped. Writes points.csv, pareto.json and a
    plot. For the OUTPUT_DIR of a build the plot joins its report.html.
    """
    from dataclasses import replace

    from finn_resnet.explore_output import explore_subject, find_subject
    from finn_resnet.report.html import write_html_report

    with _display(options["quiet"], options["verbose"]) as shown:
        shown.begin("explore", 1, 1)
        subject = find_subject(source)
        if boards:
            subject = replace(subject, boards=boards)
        if output_dir is not None:
            subject = replace(subject, folder=Path(output_dir), is_build=False)
        front = explore_subject(
            subject,
            options["modes"],
            options["shares"],
            options["workers"],
            options["scheduler"],
        )
    if subject.is_build:
        write_html_report(source)
    if not options["quiet"]:
        _print_front(front)
        click.echo(f"written to {subject.folder}")


def _print_front(front: Sequence[SweepResult]) -> None:
    from rich.table import Table

    table = Table(title="Pareto front (cost model)", title_justify="left")
    for name in ("board", "mode", "cycles", "frames/s", "DSP", "LUT", "BRAM36"):
        table.add_column(name, justify="left" if name in ("board", "mode") else "right")
    for point in front:
        figures = (point.cycles, point.fps, point.dsp, point.lut)
        cells = [f"{figure:,.0f}" for figure in figures]
        table.add_row(point.board, point.mode, *cells, f"{point.bram36:,.1f}")
    _console().print(table)


@cli.command()
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

    print_report(content, _console())


@cli.command()
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
    _console().print(table)


@cli.command()
def models() -> None:
    """List the models that come with the package."""
    from finn_resnet.model_source import shipped_models

    for name, path in shipped_models().items():
        click.echo(f"{name}  {path}")


@cli.command()
def configs() -> None:
    """List the build configurations that come with the package."""
    from finn_resnet.config import shipped_configs

    for name, path in shipped_configs().items():
        click.echo(f"{name}  {path}")


@cli.command("config-reference")
@click.option("--markdown", is_flag=True, help="The page docs/config.md instead of JSON schema.")
def config_reference(markdown: bool) -> None:
    """Print the JSON schema of a build configuration, for editors and other programs."""
    from finn_resnet.config import json_schema, markdown_reference

    click.echo(markdown_reference() if markdown else json.dumps(json_schema(), indent=2), nl=False)
    if not markdown:
        click.echo()


if __name__ == "__main__":
    main()
