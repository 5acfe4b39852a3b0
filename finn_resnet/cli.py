"""The command `finn-resnet`.

Heavy imports happen inside the commands, so that `--help` answers at once. Errors of the user are
one line on standard error and exit code 2; codes that differ from the model's are exit code 1, a
deadlock is 3; a fault of ours is one line and exit code 70, its traceback in a file.
"""

from __future__ import annotations

import io
import sys
import tempfile
import traceback

import click

from finn_resnet import __version__
from finn_resnet.commands.build import build
from finn_resnet.commands.calibrate import calibrate
from finn_resnet.commands.check import check
from finn_resnet.commands.check_hls import check_hls
from finn_resnet.commands.completion import completion
from finn_resnet.commands.deploy import deploy
from finn_resnet.commands.evaluate import evaluate
from finn_resnet.commands.explore import explore
from finn_resnet.commands.listings import boards, config_reference, configs, models
from finn_resnet.commands.report import report
from finn_resnet.commands.simulate import simulate
from finn_resnet.commands.terminal import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_USER_ERROR
from finn_resnet.commands.train import train
from finn_resnet.commands.verify import verify
from finn_resnet.errors import InternalFault, UserError


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script: run a command and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character of a name shows its code.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return cli.main(arguments, prog_name="finn-resnet", standalone_mode=False) or 0
    except UserError as error:
        return _fail(str(error), error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Keep the interpreter from complaining on exit.
        sys.stdout = None
        return 0
    except Exception as fault:
        return _fault(fault)


def _fault(fault: Exception) -> int:
    """One line on a fault of ours: the node being worked on, and where the trace is."""
    cause = fault.__cause__ if isinstance(fault, InternalFault) else fault
    where = f" at {fault}" if isinstance(fault, InternalFault) else ""
    said = " ".join(str(cause).split())
    with tempfile.NamedTemporaryFile(
        "w", prefix="finn-resnet-fault-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write("".join(traceback.format_exception(fault)))
    click.echo(
        f"internal fault{where}: {type(cause).__name__}: {said[:300]}; the trace is in "
        f"{file.name}, please report it with the model",
        err=True,
    )
    return EXIT_FAULT


def _fail(message: str, code: int = EXIT_USER_ERROR) -> int:
    click.echo("error: " + " ".join(message.split()), err=True)
    return code


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="finn-resnet")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """From a quantised residual CNN (QONNX) to a verified FPGA dataflow accelerator.

    \b
    First steps:
      finn-resnet models                          shipped models
      finn-resnet check MODEL                     what of a model maps to hardware
      finn-resnet build resnet8 --board KV260     build, verify and report
      finn-resnet report output_resnet8_kv260     show the report again

    \b
    Exit codes: 0 done, 1 codes of the C++ differ, 2 usage or model, 3 deadlock,
    70 a fault of the program, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    build,
    check,
    check_hls,
    calibrate,
    verify,
    simulate,
    report,
    explore,
    evaluate,
    deploy,
    train,
    boards,
    models,
    configs,
    config_reference,
    completion,
):
    cli.add_command(command)


if __name__ == "__main__":
    main()
