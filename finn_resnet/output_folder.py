"""The output folder of a build: written aside, and swapped in whole at the end.

A build that fails leaves an earlier output of the same folder untouched.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from finn_resnet.errors import UserError

REPORT_NAME = "report.json"
"""The report of a build."""
HLS_FOLDER = "hls"
"""Generated C++ project."""
INTERMEDIATE_FOLDER = "intermediate_models"
"""Graph after every step."""
ORIGINAL_MODEL = f"{INTERMEDIATE_FOLDER}/00_original.onnx"
"""Copy of the model file: what the C++ is verified against."""
SETTINGS_NAME = "build_config.json"
"""Settings the build ran with, complete."""
EXPLORE_FOLDER = "explore"
"""Results of a Pareto sweep."""
PARETO_PLOT = "pareto.svg"
"""Plot in the folder of a Pareto sweep."""


def check_output_folder(target: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a target whose replacement would lose something that is not an earlier build.

    Args:
        target: the folder a build would replace.
        inputs: files the build reads; they must not lie inside `target`.

    Raises:
        UserError: `target` is a file, holds something other than a build, holds the current
            folder or one of the inputs.
    """
    target = target.resolve()
    if not target.exists():
        return
    if not target.is_dir():
        raise UserError(f"output folder '{target}' is a file; give another --output-dir")
    if Path.cwd().is_relative_to(target):
        raise UserError(
            f"output folder '{target}' holds the current folder, a build replaces it whole; give "
            "another --output-dir"
        )
    if any(target.iterdir()) and not (target / REPORT_NAME).is_file():
        raise UserError(
            f"output folder '{target}' holds files that are no build (no {REPORT_NAME}), a build "
            "would replace them; give another --output-dir or empty it"
        )
    for path in inputs:
        if path.resolve().is_relative_to(target):
            raise UserError(
                f"input '{path}' lies inside the output folder '{target}', which a build replaces; "
                "move it or give another --output-dir"
            )


@contextlib.contextmanager
def staged_output(target: Path) -> Iterator[Path]:
    """A fresh folder beside `target` that takes its place when the block ends without error.

    Raises:
        UserError: the folder cannot be created where `target` is wanted.
    """
    target = target.resolve()
    staging = _make_sibling(target)
    try:
        yield staging
        _swap_in(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _make_sibling(target: Path) -> Path:
    staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        staging.mkdir(parents=True)
    except OSError as fault:
        raise UserError(
            f"output folder '{target}' cannot be written: {fault.strerror}; give another "
            "--output-dir"
        ) from fault
    return staging


def _swap_in(staging: Path, target: Path) -> None:
    if not target.exists():
        staging.rename(target)
        return
    earlier = staging.with_name(staging.name + ".earlier")
    target.rename(earlier)
    try:
        staging.rename(target)
    except OSError:
        earlier.rename(target)
        raise
    shutil.rmtree(earlier)
