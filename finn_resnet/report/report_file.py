"""report.json: one section for each part of a build, filled by the steps as they finish.

The keys are stable and carry their units in their names. A section that no step has filled is
null, which tells a build that skipped simulation or verification from one that passed it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from finn_resnet.errors import UserError
from finn_resnet.output_folder import REPORT_NAME

SECTIONS = (
    "model",
    "board",
    "backend",
    "layers",
    "totals",
    "throughput",
    "simulation",
    "rtl_simulation",
    "verification",
    "optimisations",
    "calibration",
    "timings_s",
)


def start_report(output_dir: str | Path) -> None:
    """Write a report with every section null."""
    _write(Path(output_dir), dict.fromkeys(SECTIONS))


def update_report(output_dir: str | Path, section: str, value: Any) -> None:
    """Fill one section of the report in `output_dir`; the others stay as they are.

    Raises:
        ValueError: `section` is not one of `SECTIONS`.
        UserError: there is no readable report in `output_dir`.
    """
    if section not in SECTIONS:
        raise ValueError(f"report has no section {section!r}")
    _write(Path(output_dir), {**read_report(output_dir), section: value})


def read_report(output_dir: str | Path) -> dict[str, Any]:
    """The report of a build, with every section.

    Raises:
        UserError: no build in `output_dir`, or its report is damaged.
    """
    path = Path(output_dir) / REPORT_NAME
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as fault:
        raise UserError(
            f"'{output_dir}' holds no readable {REPORT_NAME} ({fault}); give the output folder of "
            "`finn-resnet build`"
        ) from fault
    if not isinstance(report, dict) or set(report) != set(SECTIONS):
        raise UserError(
            f"'{path}' is not a report of this version, it must hold {', '.join(SECTIONS)}; "
            "build again"
        )
    return report


def _write(output_dir: Path, report: dict[str, Any]) -> None:
    """Replace the report in one go, so that an interrupted build leaves a whole one."""
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    partial = output_dir / (REPORT_NAME + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, output_dir / REPORT_NAME)
