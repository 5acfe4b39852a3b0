"""Reading csynth.xml of Vitis HLS, and Vivado's utilisation and timing summaries."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from finn_resnet.boards import Resources
from finn_resnet.errors import UserError

# Rows of report_utilization, in the names of UltraScale+ and of the 7 series.
_ROWS = {
    "lut": ("CLB LUTs", "Slice LUTs"),
    "ff": ("CLB Registers", "Slice Registers"),
    "bram36": ("Block RAM Tile",),
    "uram": ("URAM",),
    "dsp": ("DSPs",),
}


@dataclass(frozen=True)
class HlsModule:
    """A module of csynth.xml with all below it: stages of its longest pipelined loop and the
    largest initiation interval (None: no pipelined loop), estimated resources."""

    name: str
    pipeline_depth: int | None
    interval: int | None
    resources: Resources


@dataclass(frozen=True)
class Timing:
    """Worst setup slack in ns of a timing summary; negative if the clock does not hold."""

    worst_slack_ns: float


def read_csynth(path: str | Path) -> list[HlsModule]:
    """Modules of a csynth.xml (the overall report, with its ``ModuleInformation``).

    Raises:
        UserError: the file cannot be read or is no such report.
    """
    try:
        root = ElementTree.fromstring(Path(path).read_bytes())
    except (OSError, ElementTree.ParseError) as error:
        raise UserError(f"'{path}' is no readable csynth.xml: {error}") from error
    modules = [_module(path, element) for element in root.iterfind("ModuleInformation/Module")]
    if not modules:
        raise UserError(
            f"'{path}' lists no modules (ModuleInformation/Module); give the csynth.xml of the "
            "whole design, solution/syn/report/csynth.xml"
        )
    return modules


def _module(path: str | Path, element: ElementTree.Element) -> HlsModule:
    name = (element.findtext("Name") or "").strip()
    loops = element.find("PerformanceEstimates/SummaryOfLoopLatency")
    depths = list(_integers(path, name, loops, "PipelineDepth"))
    intervals = list(_integers(path, name, loops, "PipelineII"))
    area = element.find("AreaEstimates/Resources")

    def amount(*tags: str) -> int:
        return next((n for tag in tags for n in _integers(path, name, area, tag)), 0)

    return HlsModule(
        name,
        max(depths, default=None),
        max(intervals, default=None),
        Resources(
            dsp=amount("DSP", "DSP48E"),
            lut=amount("LUT"),
            ff=amount("FF"),
            bram36=amount("BRAM_18K") / 2,
            uram=amount("URAM"),
        ),
    )


def _integers(
    path: str | Path, module: str, element: ElementTree.Element | None, tag: str
) -> Iterator[int]:
    """Whole numbers of all ``tag`` below ``element``; loops nest, and "-" stands for none."""
    for found in element.iter(tag) if element is not None else ():
        text = (found.text or "").strip()
        if text.isdecimal():
            yield int(text)
        elif text not in ("", "-", "~0", "undef"):
            raise UserError(f"'{path}': module {module}, {tag} = {text!r} is no whole number")


def read_utilisation(path: str | Path) -> Resources:
    """Resources in use by a file of Vivado's ``report_utilization``.

    Raises:
        UserError: the file cannot be read, or a row is missing.
    """
    text = _text(path)
    found = {}
    for name, labels in _ROWS.items():
        label = "|".join(labels)
        row = re.search(rf"^\|\s*(?:{label})\*?\s*\|\s*([\d.]+)\s*\|", text, re.M)
        if row is None and name != "uram":
            raise UserError(
                f"'{path}' has no row {' or '.join(labels)}; give a file of report_utilization"
            )
        found[name] = float(row.group(1)) if row else 0.0
    return Resources(**found)


def read_timing(path: str | Path) -> Timing:
    """Worst setup slack by a file of Vivado's ``report_timing_summary``.

    Raises:
        UserError: the file cannot be read, or holds no Design Timing Summary.
    """
    row = re.search(r"^\s*WNS\(ns\).*\n[\s-]*\n\s*(-?[\d.]+)", _text(path), re.M)
    if row is None:
        raise UserError(f"'{path}' has no WNS(ns) column; give a file of report_timing_summary")
    return Timing(float(row.group(1)))


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"report '{path}' cannot be read: {error}") from error
