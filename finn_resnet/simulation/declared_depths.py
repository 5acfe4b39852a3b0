"""The stream depths that the C++ declares, as text.

A run takes its depths from project.json, so that one executable serves every depth. What makes a
measurement one of the sources themselves is this comparison.
"""

from __future__ import annotations

import re

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import PROJECT_FILE, Project

_PRAGMA = re.compile(r"^#pragma HLS stream variable=(\w+) depth=(\d+)$", re.MULTILINE)
_NAMED = re.compile(r"FR_NAMED\(\s*(\w+),\s*(\d+)\)")


def declared_depths(source: str) -> dict[str, set[int]]:
    """Tokens by stream declaration: one number where pragma and simulation agree."""
    depths: dict[str, set[int]] = {}
    for pattern in (_PRAGMA, _NAMED):
        for name, depth in pattern.findall(source):
            depths.setdefault(name, set()).add(int(depth))
    return depths


def demand_declared_depths(project: Project) -> None:
    """Refuse a project whose sources declare other depths than its project.json.

    Raises:
        UserError: they differ; names the first such stream.
    """
    source = "\n".join(
        (project.directory / name).read_text(encoding="utf-8") for name in project.sources
    )
    declared = declared_depths(source)
    for stream in project.streams:
        found = declared.get(stream.name, set())
        if found != {stream.depth}:
            there = " and ".join(map(str, sorted(found))) or "no"
            raise UserError(
                f"the C++ in '{project.directory}' declares stream '{stream.name}' with depth "
                f"{there}, {PROJECT_FILE} says {stream.depth}: a simulation would not be of the "
                "C++; build again, or change both"
            )
