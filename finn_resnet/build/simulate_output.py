"""Cycle-level simulation of a build's C++, with the settings of its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finn_resnet import progress
from finn_resnet.build import report_sections
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.report.report_file import update_report


@dataclass(frozen=True)
class SimulationOutcome:
    """The `simulation` section of a report, and whether the user stopped the run before its end."""

    section: dict[str, Any]
    interrupted: bool


def simulate_output(
    cfg: BuildConfig,
    *,
    depths: Mapping[str, int] | None = None,
    input_rate: float = 1.0,
    output_rate: float = 1.0,
) -> SimulationOutcome:
    """Simulate the C++ in `cfg.output_dir`; a run of the build as it is goes into its report.

    Args:
        cfg: names the output folder, the number of frames and the clock.
        depths: tokens by stream, to try in place of the build's.
        input_rate: beats per cycle from memory.
        output_rate: beats per cycle to memory.

    Raises:
        UserError: no C++ compiler, illegal rates, frames or depths.
    """
    from finn_resnet.generation.project_file import load_project
    from finn_resnet.simulation.simulate import SimulationInterrupted, simulate_project

    folder = Path(cfg.output_dir) / HLS_FOLDER
    streams = load_project(folder).streams
    skips = [name for item in streams if item.kind == "skip" for name in item.fifo_names]
    interrupted = False
    try:
        result = simulate_project(
            folder,
            frames=cfg.simulation_frames,
            depths=depths,
            input_rate=input_rate,
            output_rate=output_rate,
            trace=skips,
            progress=progress.current().update,
        )
    except SimulationInterrupted as stopped:
        # What was measured until then is worth keeping; the section says that it is partial.
        result, interrupted = stopped.result, True
    section = report_sections.simulation_section(result, cfg)
    if depths:
        section["band"] = None  # the sizing's; these are other streams
    if not depths and input_rate == output_rate == 1:
        update_report(cfg.output_dir, "simulation", section)
    return SimulationOutcome(section, interrupted)


def read_depths(path: str | None) -> dict[str, int] | None:
    """Stream depths from a JSON file `{"stream": tokens}`; None for no file.

    Raises:
        UserError: unreadable file, or values that are not whole numbers.
    """
    if path is None:
        return None
    try:
        depths = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as fault:
        raise UserError(f"depth file '{path}' cannot be read: {fault}; give JSON") from fault
    legal = isinstance(depths, dict) and all(type(depth) is int for depth in depths.values())
    if not legal or not depths:
        raise UserError(f"depth file '{path}' must hold an object of stream names and tokens")
    return depths
