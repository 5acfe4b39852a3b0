"""The shipped configurations over a band of pipeline depths: deadlocks, worst rate, storage.

    python -m benchmarks.depth_band [--points 1000] [--configs resnet8_KV260_full ...] [--rows FILE]
                                                                     (from the checkout's root)

Each configuration is built with the published model in ``../shared/models`` of its network up to
the sizing of its streams, which is timed. Then the pipelines of all tasks get random depths within
the band, ``--points`` times (half of them corners of the band), and the recorded C++ is replayed
with the sized streams. A row holds the longest period found, how many points stood still, and what
the band costs in bits of streams. The exit status is 1 if a point stood still.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.build import build
from finn_resnet.build.steps import DEFAULT_STEPS
from finn_resnet.config import BuildConfig
from finn_resnet.generation.project import generate_project
from finn_resnet.output_folder import INTERMEDIATE_FOLDER
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.depth_band import DEFAULT_BAND
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, period_of
from finn_resnet.simulation.replay import Replay
from finn_resnet.simulation.simulate import TimedRun, project_settings
from finn_resnet.simulation.size_streams import SizeStreams

MODELS = Path(__file__).parents[2] / "shared" / "models"
CONFIGS = [
    f"{network}_{board}_{mode}"
    for network in ("resnet8", "resnet20")
    for board in ("Ultra96", "KV260")
    for mode in ("paper", "full")
]
POINTS = 1000


def hardware_graph(config: str, folder: Path) -> ModelWrapper:
    """The graph before its streams are sized."""
    network, board, mode = config.split("_")
    steps = tuple(DEFAULT_STEPS[: DEFAULT_STEPS.index("step_size_streams")])
    model = str(MODELS / f"{network}_a8w8b16.onnx")
    build(BuildConfig(model, board, str(folder / "build"), mode, steps=steps))
    saved = sorted((folder / "build" / INTERMEDIATE_FOLDER).glob("[0-9]*_*.onnx"))
    return ModelWrapper(str(saved[-1]))


def random_periods(model: ModelWrapper, folder: Path, points: int) -> Iterator[int | None]:
    """Period of the sized design at random points of the band; None where it stands still."""
    project = generate_project(model, folder / "sized", "sized")
    settings = project_settings(project)
    run = TimedRun(project, compile_project(project.directory, timed=True), folder)
    recorded = run(settings, 1)
    ends = {stream.name: (stream.writer, stream.reader) for stream in recorded.streams}
    settings = replace(settings, ends=ends)
    replay = Replay(project, run.pattern, folder)
    modelled = {task.name: task.pipeline_depth for task in project.tasks}
    for point in DEFAULT_BAND.random_points(modelled, points, seed=1):
        yield period_of(replay(replace(settings, pipeline_depths=point), SEARCH_FRAMES))


def measure(config: str, points: int) -> dict[str, Any]:
    """One row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = hardware_graph(config, folder)
        sizing = SizeStreams(top_name="sized")
        begin, cpu = time.perf_counter(), sum(_cpu_times())
        model = model.transform(sizing)
        elapsed, cpu = time.perf_counter() - begin, sum(_cpu_times()) - cpu
        periods = list(random_periods(model, folder, points))
    report, band = sizing.report, sizing.report.band
    return {
        "config": config,
        "sizing_s": round(elapsed, 1),
        "sizing_cpu_s": round(cpu, 1),
        "simulations": report.simulations,
        "period": report.sized_period,
        "circles": band.circles,
        "corners": band.corners,
        "complete": band.complete,
        "corner_deadlocks": band.deadlocks,
        "worst_corner_floor": band.worst_floor,
        "points": points,
        "deadlocks": periods.count(None),
        "worst_period": max(period for period in [band.worst_period, *periods] if period),
        "bits": report.sized_bits,
        "added_bits": band.added_bits,
    }


def _cpu_times() -> tuple[float, ...]:
    """Seconds of this process and of its children (compiler, simulations)."""
    return tuple(os.times()[:4])


def text(row: dict[str, Any]) -> str:
    """A row as a line of a Markdown table."""
    loss = 100 * (row["worst_period"] / row["period"] - 1)
    price = 100 * row["added_bits"] / (row["bits"] - row["added_bits"])
    return (
        f"| {row['config']} | {row['corners']} of {row['circles']:,} circles | "
        f"{row['corner_deadlocks'] + row['deadlocks']} | {row['period']:,} | "
        f"{row['worst_period']:,} (+{loss:.2f} %) | {row['added_bits']:,} (+{price:.1f} %) | "
        f"{row['sizing_cpu_s']} |"
    )


def main() -> int:
    """See module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--configs", nargs="*", default=CONFIGS)
    parser.add_argument("--rows", type=Path)
    options = parser.parse_args()
    stuck = 0
    print("| configuration | corners | deadlocks | cycles per frame | worst | bits | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for config in options.configs:
        row = measure(config, options.points)
        stuck += row["corner_deadlocks"] + row["deadlocks"]
        print(text(row), flush=True)
        if options.rows:
            with options.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return int(stuck > 0)


if __name__ == "__main__":
    sys.exit(main())
