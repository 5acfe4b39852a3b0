"""The output folder of a build: written aside, and swapped in whole at the end.

A build that fails, is terminated or finds the disk full leaves an earlier output of the same folder
untouched. A marker file names every file the build wrote, with its digest: what else lies in the
folder, or was edited there, is the user's and survives the next build.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from finn_resnet import progress
from finn_resnet.errors import UserError

REPORT_NAME = "report.json"
"""The report of a build."""
HTML_NAME = "report.html"
"""The report as a page."""
HLS_FOLDER = "hls"
"""Generated C++ project."""
RTL_FOLDER = "rtl"
"""Generated SystemVerilog project."""
DEPLOY_FOLDER = "deploy"
"""What is copied to the board."""
INTERMEDIATE_FOLDER = "intermediate_models"
"""Graph after every step."""
ORIGINAL_MODEL = f"{INTERMEDIATE_FOLDER}/00_original.onnx"
"""Copy of the model file: what the C++ is verified against."""
SETTINGS_NAME = "build_config.json"
"""Settings the build ran with, complete."""
MARKER_NAME = "build_files.json"
"""Says that a folder is a build: its id and its files with their SHA-256."""
EXPLORE_FOLDER = "explore"
"""Results of a Pareto sweep."""
PARETO_PLOT = "pareto.svg"
"""Plot in the folder of a Pareto sweep."""

# Rewritten by later commands on the same build (simulate, verify, explore).
_REWRITTEN = (REPORT_NAME, HTML_NAME)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


def check_output_folder(target: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a target that is not an earlier build, or that the build reads from.

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
    if any(target.iterdir()) and read_marker(target) is None:
        raise UserError(
            f"output folder '{target}' holds files but no {MARKER_NAME} of a build, so they are "
            "not replaced; give another --output-dir or empty it"
        )
    for path in inputs:
        if path.resolve().is_relative_to(target):
            raise UserError(
                f"input '{path}' lies inside the output folder '{target}', which a build replaces; "
                "move it or give another --output-dir"
            )


def read_marker(folder: Path) -> dict[str, Any] | None:
    """`build_id` and `files` (relative path -> SHA-256) of a build's folder; None if it is none."""
    try:
        marker = json.loads((folder / MARKER_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    legal = (
        isinstance(marker, dict)
        and isinstance(marker.get("build_id"), str)
        and isinstance(marker.get("files"), dict)
    )
    return marker if legal else None


@contextlib.contextmanager
def staged_output(target: Path) -> Iterator[Path]:
    """A fresh folder beside `target` that takes its place when the block ends without error.

    What the earlier build in `target` did not write, or what was edited since, is carried over: in
    place where it lies beside the build's own folders, else to `earlier_<build id>/`, since it was
    made from the files of that build.

    Raises:
        UserError: the folder cannot be created where `target` is wanted, or the disk is full.
    """
    target = target.resolve()
    staging = _make_sibling(target)
    try:
        with _raised_terminations(), _named_full_disk(target):
            yield staging
            _write_marker(staging)
        with _held_signals():
            carried = _swap_in(staging, target)
        for path in carried:
            progress.current().note(f"kept, not written by a build: {path}")
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def staged_files(target: Path) -> Iterator[Path]:
    """A fresh folder whose files take their places in `target` when the block ends without error.

    Files of other names stay as they are.

    Raises:
        UserError: the folder cannot be created where `target` is wanted.
    """
    target = target.resolve()
    staging = _make_sibling(target)
    try:
        yield staging
        for path in _entries(staging):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (staging / path).replace(target / path)
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


@contextlib.contextmanager
def _raised_terminations() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as an exception, so that it is cleaned up."""

    def leave(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    # Only the main thread may set handlers; a handler of the caller's own is left alone.
    is_main = threading.current_thread() is threading.main_thread()
    changed = [n for n in _TERMINATIONS if is_main and signal.getsignal(n) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def _held_signals() -> Iterator[None]:
    """Put off interruptions until the block is done."""
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_TERMINATIONS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


@contextlib.contextmanager
def _named_full_disk(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno not in _NO_SPACE:
            raise
        raise UserError(
            f"output folder '{target}' cannot be written: {fault.strerror}; make space, or give "
            "another --output-dir"
        ) from fault


def _entries(folder: Path) -> Iterator[Path]:
    """Files and links below `folder`, relative to it; links are not followed."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*files, *links):
            yield Path(parent, name).relative_to(folder)


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_marker(folder: Path) -> None:
    """The id is the digest of all files but the reports: equal builds have equal ids."""
    files = {path.as_posix(): _digest(folder / path) for path in sorted(_entries(folder))}
    fixed = {name: digest for name, digest in files.items() if name not in _REWRITTEN}
    build_id = hashlib.sha256(json.dumps(fixed).encode()).hexdigest()[:12]
    text = json.dumps({"build_id": build_id, "files": files}, indent=1) + "\n"
    (folder / MARKER_NAME).write_text(text, encoding="utf-8")


def _swap_in(staging: Path, target: Path) -> list[Path]:
    """Put `staging` in the place of `target`; the new places of what was carried over."""
    if not target.exists():
        staging.rename(target)
        return []
    earlier = staging.with_name(staging.name + ".earlier")
    target.rename(earlier)
    try:
        staging.rename(target)
    except OSError:
        earlier.rename(target)
        raise
    carried = _carry_over(earlier, target)
    shutil.rmtree(earlier)
    return carried


def _carry_over(earlier: Path, target: Path) -> list[Path]:
    """Move what is not the earlier build's own from its folder to the new one."""
    marker = read_marker(earlier)
    if marker is None:  # an empty folder
        return []
    carried = []
    for path in list(_entries(earlier)):
        name = path.as_posix()
        if name == MARKER_NAME or (name in _REWRITTEN and name in marker["files"]):
            continue
        if marker["files"].get(name) == _digest(earlier / path):
            continue
        place = _new_place(target, path, marker["build_id"])
        carried.append(_move(earlier / path, place))
    return carried


def _new_place(target: Path, path: Path, build_id: str) -> Path:
    own_folders = (HLS_FOLDER, DEPLOY_FOLDER, INTERMEDIATE_FOLDER)
    place = target / path
    if path.parts[0] not in own_folders and not os.path.lexists(place):
        return place
    return target / f"earlier_{build_id}" / path


def _move(source: Path, place: Path) -> Path:
    """Rename within one file system; a name that is taken gets a number. Returns the new path."""
    place.parent.mkdir(parents=True, exist_ok=True)
    free, number = place, 1
    while os.path.lexists(free):
        number += 1
        free = place.with_name(f"{place.name}.{number}")
    source.rename(free)
    return free
