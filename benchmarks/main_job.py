"""Time and memory of the main job: build, native simulation, bit-exact comparison.

    python benchmarks/main_job.py MODEL.onnx [...] --images SET.npz [--num 1000] [--board KV260]

Builds run without verification in a process of their own, on one core where the system can pin it,
and with an empty cache of executables: every time holds its compilations. Absolute figures depend
on the machine, CPU time (with all children) least on what else runs there; the table says how many
pictures were compared and how many codes differed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from finn_resnet.cache_folder import CACHE_VARIABLE
from finn_resnet.image_set import load_image_set
from finn_resnet.importing import read_model
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.report.report_file import read_report
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from finn_resnet.verification import to_pictures, verify_project
from finn_resnet.verification.verify import input_codes

SPEED_FRAMES = 200


def pin_to_one_core() -> None:
    """Keep this process and its children on one core, where the system allows."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def children_cpu_s() -> float:
    """User and system time [s] of all finished child processes and theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed_build(model: Path, board: str, mode: str, folder: Path) -> dict[str, float]:
    """Time [s] and peak memory [MB] of one build without verification, and of its simulations."""
    command = [sys.executable, "-m", "finn_resnet.cli", "build", "--quiet", str(model.resolve())]
    command += ["--board", board, "--mode", mode, "--output-dir", str(folder)]
    start, cpu = time.perf_counter(), children_cpu_s()
    subprocess.run([*command, "--skip-verification"], check=True)
    seconds, cpu = time.perf_counter() - start, children_cpu_s() - cpu
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    steps = read_report(folder)["timings_s"]
    return {
        "build_s": round(seconds, 2),
        "build_cpu_s": round(cpu, 2),
        "size_streams_s": steps["size_streams"],
        "simulate_s": steps["simulate"],
        "build_peak_mb": round(peak),
    }


def last_graph(folder: Path) -> Path:
    """The hardware graph a build generated its C++ from."""
    return sorted((folder / "intermediate_models").glob("*.onnx"))[-1]


def measure(
    model: Path, board: str, mode: str, pictures: np.ndarray, labels: np.ndarray | None
) -> dict[str, object]:
    """All figures of one model on one board."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ[CACHE_VARIABLE] = str(Path(scratch) / "cache")
        folder = Path(scratch) / "build"
        row: dict[str, object] = {"model": model.stem, "board": board, "mode": mode}
        row |= timed_build(model, board, mode, folder)
        hardware, original = read_model(last_graph(folder)), read_model(model)
        start = time.perf_counter()
        executable = compile_project(folder / HLS_FOLDER)
        row["compile_s"] = round(time.perf_counter() - start, 2)
        codes = input_codes(hardware, pictures[:SPEED_FRAMES])
        start = time.perf_counter()
        run_codes(executable, codes)
        row["simulated_images_per_s"] = round(len(codes) / (time.perf_counter() - start), 1)
        start = time.perf_counter()
        result = verify_project(hardware, original, folder / HLS_FOLDER, pictures, labels)
        row["verified_images_per_s"] = round(result.images / (time.perf_counter() - start), 1)
        row |= {
            "images": result.images,
            "compared_codes": result.compared_codes,
            "mismatched_codes": result.mismatched_codes,
            "accuracy_qonnx": result.accuracy_reference,
            "accuracy_cpp": result.accuracy_accelerator,
        }
    row["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return row


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--images", required=True, type=Path)
    parser.add_argument("--num", type=int, default=1000)
    parser.add_argument("--board", action="append", help="may be repeated; default KV260")
    parser.add_argument("--mode", default="paper", choices=["paper", "full"])
    arguments = parser.parse_args()
    pin_to_one_core()
    images = load_image_set(arguments.images, arguments.num)
    pictures = to_pictures(images.images)
    for model in arguments.models:
        for board in arguments.board or ["KV260"]:
            row = measure(model, board, arguments.mode, pictures, images.labels)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
