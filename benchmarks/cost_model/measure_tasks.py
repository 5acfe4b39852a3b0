"""Measure the whole tasks of `whole_tasks` with Yosys; the figures go to ``measurements.json``.

    pip install pyosys
    python benchmarks/cost_model/measure_tasks.py [--circuit NAME] [--again]

What the file has already is not measured again, unless asked to: everything takes about an hour on
one core.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from netlist import sites, synthesise
from whole_tasks import WholeTask, whole_tasks

MEASUREMENTS = Path(__file__).with_name("measurements.json")


def read_measurements(path: Path = MEASUREMENTS) -> dict[str, dict[str, float]]:
    """Sites of every measured task, by its name."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_measurements(found: dict[str, Any], path: Path = MEASUREMENTS) -> None:
    """One task a line, those of one circuit together."""
    lines = [f"  {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def measured(task: WholeTask) -> dict[str, float]:
    """Sites of one task."""
    options = "" if task.parameters.get("DSP", 1) else "-nodsp"
    return sites(synthesise(task.circuit, task.parameters, options))


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks = whole_tasks()
    parser.add_argument("--circuit", action="append", choices=sorted({t.circuit for t in tasks}))
    parser.add_argument("--again", action="store_true", help="measure known tasks again too")
    arguments = parser.parse_args()
    for task in tasks:
        known = read_measurements()
        if arguments.circuit and task.circuit not in arguments.circuit:
            continue
        if task.name in known and not arguments.again:
            continue
        started = time.perf_counter()
        found = measured(task)
        write_measurements({**read_measurements(), task.name: found})
        print(f"{task.name}: {found} ({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
