"""What the command line makes of model files: `check`, and `build` up to verified C++.

    python -m benchmarks.real_files FILE_OR_FOLDER [...] [--board KV260] [--full] [--limit-s 600]
                                                                     (from the checkout's root)

One row a file: exit code of `check`, exit code of `build` (without stream sizing and cycle
simulation unless ``--full``), the definition of equal that held, values compared, codes that differ
from the reference and codes that qonnx has otherwise in float32, and the last line of an error. The
exit status is 1 where the two commands disagree, C++ differs, or a command ends in a fault of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import sys
import tempfile
from pathlib import Path

from finn_resnet.cli import run
from finn_resnet.transformation import LOWERING, OPTIMISATIONS

NAMES = [
    *LOWERING, *OPTIMISATIONS, "set_parallelism", "insert_width_adapters", "set_stream_depths",
    "generate", "verify",
]  # fmt: skip


def command(arguments: list[str]) -> tuple[int, str]:
    """Exit code and the last line of standard error of the program."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = run(arguments)
    lines = said.getvalue().strip().splitlines()
    return code, lines[-1] if lines else ""


def outcome(path: str, board: str, full: bool) -> dict[str, object]:
    """Row of one file."""
    row: dict[str, object] = {"file": Path(path).name}
    row["check"], row["said"] = command(["check", path])
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out"
        arguments = ["build", path, "--board", board, "--output-dir", str(target), "--quiet"]
        if not full:
            arguments += ["--set", f"steps={json.dumps([f'step_{name}' for name in NAMES])}"]
        row["build"], said = command(arguments)
        row["said"] = row["said"] or said
        if (target / "report.json").is_file():
            report = json.loads((target / "report.json").read_text())
            row["cycles"] = (report["simulation"] or {}).get("cycles_per_frame")
            verification = report["verification"] or {}
            row.update({k: v for k, v in verification.items() if isinstance(v, int | str)})
    return row


def _into(connection: object, *arguments: object) -> None:
    connection.send(outcome(*arguments))


def guarded(path: str, board: str, full: bool, limit_s: float) -> dict[str, object]:
    """`outcome` in a process of its own, so that a crash or endless search costs one row."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_into, args=(writer, path, board, full))
    process.start()
    writer.close()
    try:
        if reader.poll(limit_s):
            return reader.recv()
        return {"file": Path(path).name, "said": f"no answer within {limit_s:g} s"}
    except EOFError:
        return {"file": Path(path).name, "said": "its process died"}
    finally:
        process.kill()
        process.join()


def model_files(paths: list[Path]) -> list[Path]:
    """The files themselves, and every .onnx in folders."""
    return [f for path in paths for f in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])]


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--board", default="KV260")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limit-s", type=float, default=600)
    arguments = parser.parse_args()
    wrong = 0
    for path in model_files(arguments.paths):
        row = guarded(str(path), arguments.board, arguments.full, arguments.limit_s)
        agree = row.get("check") == row.get("build") and row.get("check") in (0, 2)
        wrong += not agree
        print("ok   " if agree else "WRONG", json.dumps(row), flush=True)
    print(f"{wrong} files where the commands disagree, codes differ or the program failed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
