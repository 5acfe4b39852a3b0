"""Simulations with AMD's model of the DSP48E2, in Icarus Verilog."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
RTL = CHECKOUT / "rtl"
VENDOR = CHECKOUT.parent / "shared" / "unisim"


def simulate_slice(
    bench: Path, sources: Sequence[Path], folder: Path, parameters: dict[str, int] | None = None
) -> str:
    """What ``bench`` (a module of its file's name) prints, with the vendor's DSP48E2 as primitive.

    Skips where the simulator or the vendor's model is absent.
    """
    if shutil.which("iverilog") is None:
        pytest.skip("no iverilog (install Icarus Verilog 11)")
    if not (VENDOR / "DSP48E2.v").is_file():
        pytest.skip("no folder ../shared/unisim beside the checkout")
    program = folder / f"{bench.stem}.vvp"
    command = ["iverilog", "-g2012", "-DDSP48E2_PRIMITIVE", "-s", bench.stem, "-s", "glbl"]
    command += [f"-P{bench.stem}.{name}={value}" for name, value in (parameters or {}).items()]
    files = [bench, *sources, VENDOR / "DSP48E2.v", VENDOR / "glbl.v"]
    _run([*command, "-o", str(program), *map(str, files)])
    return _run(["vvp", "-n", str(program)])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
