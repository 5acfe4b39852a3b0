"""What the commands share: display options, console, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from finn_resnet.progress import Progress

EXIT_FAILED = 1
"""A result is not what was promised: codes differ."""
EXIT_USER_ERROR = 2
EXIT_DEADLOCK = 3
"""The design stands still."""
EXIT_FAULT = 70
"""A fault of ours (sysexits.h: EX_SOFTWARE)."""
EXIT_INTERRUPTED = 130

COUNT = click.IntRange(min=1)
"""Type of options that count something."""


def display_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options `--json`, `--quiet` and `--verbose`, which every command has."""
    json_ = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
    quiet = click.option("-q", "--quiet", is_flag=True, help="Show errors only.")
    verbose = click.option(
        "-v", "--verbose", is_flag=True, help="Show log records and warnings of the libraries."
    )
    return json_(quiet(verbose(command)))


def print_json(content: Any) -> None:
    """Print one JSON object on standard output."""
    click.echo(json.dumps(content, indent=2))


def display(quiet: bool, verbose: bool, **_other: bool) -> AbstractContextManager[Progress]:
    """The progress display of a command; library warnings only where asked for."""
    from finn_resnet import progress

    silence_libraries(verbose)
    return progress.use(progress.for_terminal(quiet))


def silence_libraries(verbose: bool) -> None:
    """Hide what libraries warn about, their own workings, which a user cannot act on.

    With `verbose`, these and our own log records (`finn_resnet.*`) go to standard error.
    """
    import logging
    import warnings

    if verbose:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("finn_resnet").setLevel(logging.DEBUG)
        return
    warnings.simplefilter("ignore")
    logging.getLogger().setLevel(logging.ERROR)


def console() -> Console:
    """Where tables are printed; brackets in names are their own, not markup."""
    from rich.console import Console

    screen = Console(markup=False)
    if not screen.is_terminal:
        # A pipe has no width; do not fold tables to the 80 columns rich assumes.
        screen.width = 160
    return screen


def verification_exit(failure: str | None) -> int:
    """Exit code of a verification; says on standard error why it failed."""
    return 0 if failure is None else fail_result(failure)


def cpp_faults() -> tuple[type[Exception], ...]:
    """What goes wrong with C++ a user has edited: it does not compile, or breaks its own rules."""
    from finn_resnet.simulation.compiler import CompilationError
    from finn_resnet.simulation.runner import SimulationError

    return CompilationError, SimulationError


def fail_result(message: str, code: int = EXIT_FAILED) -> int:
    """Report a result that is not what was promised, in one line; the exit code for it."""
    click.echo(f"failed: {message}", err=True)
    return code
