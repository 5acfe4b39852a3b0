"""Comparison of a build with a vendor's reports, and the coefficients that follow from it.

A coefficient prices what the cost model cannot count; shift registers, memories and DSPs it counts.
So the measured LUTs (flip-flops) fix one factor: ``measured = counted + factor * priced``, by which
every coefficient that prices LUTs (flip-flops) is multiplied. Both bounds of the whole design then
equal the measurement.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finn_resnet.boards import RESOURCE_NAMES, Resources, load_board, total
from finn_resnet.calibration.task_modules import modules_of_tasks
from finn_resnet.calibration.vendor_reports import (
    HlsModule,
    Timing,
    read_csynth,
    read_timing,
    read_utilisation,
)
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import Project, load_project
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.parallelism.coefficients import (
    changed_coefficients,
    coefficients,
    replaced_coefficients,
)
from finn_resnet.parallelism.estimate import estimate

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.build.finished_build import FinishedBuild

_REPORTS = {
    "csynth": "build/hls_project/solution/syn/report/csynth.xml",
    "utilisation": "build/reports/utilisation.rpt",
    "timing": "build/reports/timing.rpt",
}


@dataclass(frozen=True)
class Calibration:
    """What the reports say.

    ``section`` is the report's: tasks (modelled and real pipeline depth, initiation interval,
    resources), layers and totals (model between its bounds, and measured), the clock.
    ``entries`` are the coefficients that are not the shipped ones afterwards.
    """

    section: dict[str, Any]
    entries: dict[str, dict[str, Any]]

    @property
    def text(self) -> str:
        """``entries`` as a coefficients file."""
        return json.dumps(self.entries, indent=2) + "\n"


def find_reports(folder: Path) -> dict[str, Path]:
    """The reports that the scripts of a build leave in ``hls/``: csynth, utilisation, timing."""
    paths = {name: folder / HLS_FOLDER / path for name, path in _REPORTS.items()}
    return {name: path for name, path in paths.items() if path.is_file()}


def calibrate(build: FinishedBuild, reports: Mapping[str, Path]) -> Calibration:
    """Compare a build with its vendor reports, by the coefficients in use.

    Args:
        build: the finished build the reports are of.
        reports: files by kind: ``csynth`` (Vitis HLS), ``utilisation`` and ``timing`` (Vivado); at
            least one of the first two.

    Raises:
        UserError: no report, one that cannot be read, or one of another design.
    """
    if not {"csynth", "utilisation"} & set(reports):
        raise UserError(
            f"'{build.folder}' holds no vendor report; run make hls or make bitstream in "
            f"{HLS_FOLDER}/, or give --csynth or --utilisation"
        )
    project = load_project(build.folder / HLS_FOLDER)
    model, board = build.hardware_graph(), load_board(build.config.board)
    tasks = _tasks(build, project, reports)
    measured = total(task.resources for task in tasks.values())
    if "utilisation" in reports:
        measured = read_utilisation(reports["utilisation"])
    depths = {n: t.pipeline_depth for n, t in tasks.items() if t.pipeline_depth is not None}
    modelled = {task.name: task.pipeline_depth for task in project.tasks}
    found = estimate(model, board, build.config.clock_mhz)
    entries = changed_coefficients() | {
        name: scaled
        for resource in ("lut", "ff")
        for name, scaled in _scaled(model, board, resource, getattr(measured, resource)).items()
    }
    if depths:
        entries["task_depths"] = {"value": depths}
    clock = build.config.clock_mhz or board.clock_mhz
    section = {
        "reports": {name: str(path) for name, path in reports.items()},
        "tasks": [
            {
                "name": name,
                "modelled_pipeline_depth": modelled[name],
                "pipeline_depth": task.pipeline_depth,
                "interval": task.interval,
                **task.resources.as_dict(),
            }
            for name, task in tasks.items()
        ],
        "unmatched_tasks": sorted(set(modelled) - set(tasks)) if tasks else [],
        "layers": _layers(project, tasks, found.layers),
        "totals": {
            name: {
                "low": found.totals.low.as_dict()[name],
                "high": found.totals.as_dict()[name],
                "measured": measured.as_dict()[name],
            }
            for name in RESOURCE_NAMES
        },
        "clock": _clock(clock, read_timing(reports["timing"])) if "timing" in reports else None,
    }
    return Calibration(section, entries)


def _tasks(
    build: FinishedBuild, project: Project, reports: Mapping[str, Path]
) -> dict[str, HlsModule]:
    """Module of every task in csynth.xml, none without that report."""
    if "csynth" not in reports:
        return {}
    source = build.folder / HLS_FOLDER / f"{project.top}.cpp"
    found = modules_of_tasks(source, read_csynth(reports["csynth"]))
    if not found:
        raise UserError(
            f"'{reports['csynth']}' has no module of a task of {project.top}; give the report of "
            "this design"
        )
    return found


def _layers(
    project: Project, tasks: Mapping[str, HlsModule], layers: list[Any]
) -> list[dict[str, Any]]:
    """Model and measurement of every node all of whose tasks are known.

    The model's include the FIFOs behind a node, which Vitis HLS reports with the top function.
    """
    parts: dict[str, list[HlsModule]] = defaultdict(list)
    missing = {task.node for task in project.tasks if task.name not in tasks}
    for task in project.tasks:
        if task.node not in missing:
            parts[task.node].append(tasks[task.name])
    return [
        {
            "name": layer.name,
            "low": layer.low,
            "high": {name: getattr(layer, name) for name in RESOURCE_NAMES},
            "measured": total(part.resources for part in parts[layer.name]).as_dict(),
        }
        for layer in layers
        if layer.name in parts
    ]


def _scaled(
    model: ModelWrapper, board: Any, resource: str, measured: float
) -> dict[str, dict[str, Any]]:
    """The coefficients that price ``resource``, scaled so that the model meets ``measured``."""
    priced = {n: e for n, e in coefficients().items() if e.get("resource") == resource}
    if measured <= 0:
        return {}
    with replaced_coefficients({name: {"low": 0, "high": 0} for name in priced}):
        counted = _bounds(estimate(model, board).totals, resource)
    whole = _bounds(estimate(model, board).totals, resource)
    factors = {
        bound: max(measured - counted[bound], 0) / max(whole[bound] - counted[bound], 1)
        for bound in ("low", "high")
    }
    source = f"calibrated: measured {measured:g} {resource.upper()} of a whole design"
    return {
        name: {
            "low": min(entry["low"] * factors["low"], entry["high"] * factors["high"]),
            "high": entry["high"] * factors["high"],
            "source": source,
        }
        for name, entry in priced.items()
    }


def _bounds(cost: Resources, resource: str) -> dict[str, float]:
    return {"low": getattr(cost, f"{resource}_low"), "high": getattr(cost, resource)}


def _clock(assumed_mhz: float, timing: Timing) -> dict[str, float]:
    """The clock that was assumed, and the one the slack allows, in MHz."""
    period = 1e3 / assumed_mhz - timing.worst_slack_ns
    return {
        "assumed_mhz": assumed_mhz,
        "worst_slack_ns": timing.worst_slack_ns,
        "reached_mhz": 1e3 / period,
    }
