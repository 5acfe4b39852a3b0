"""The settings file of a cycle-level run (hls/simulation/settings.hpp)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.generation.project_file import Project

RESTART_CYCLES = 2
"""Idle cycles between a drained pipeline and the next frame: an HLS loop's exit and entry states.

A model: the count a vendor tool reports for a function that is one pipelined loop is its trip
count plus its pipeline's depth plus one or two states.
"""

UNLIMITED = 1 << 40
"""A depth no run reaches."""


@dataclass
class RunSettings:
    """Depths (tokens) by FIFO; pipeline depths, styles and frame spreads (cycles) by task."""

    depths: dict[str, int]
    pipeline_depths: dict[str, int] = field(default_factory=dict)
    restart: int = RESTART_CYCLES
    spread: dict[str, int] = field(default_factory=dict)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    growable: Iterable[str] = ()
    styles: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the file."""
        lines = [f"restart {self.restart}"]
        lines += [f"depth {name} {depth}" for name, depth in self.depths.items()]
        lines += [f"pipeline {name} {depth}" for name, depth in self.pipeline_depths.items()]
        lines += [f"style {name} {style}" for name, style in self.styles.items() if style != "stp"]
        lines += [f"spread {name} {cycles}" for name, cycles in self.spread.items()]
        lines += [f"ends {name} {a} {b}" for name, (a, b) in self.ends.items() if a and b]
        lines += [f"grow {name}" for name in self.growable]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fifo_depths(project: Project, chosen: Mapping[str, int] | None = None) -> dict[str, int]:
    """Depth of every FIFO: the project's, with those in ``chosen`` replaced.

    Args:
        chosen: by stream declaration, or by single FIFO of an array.

    Raises:
        UserError: no stream has such a name, or a depth is not positive.
    """
    depths = {name: item.depth for item in project.streams for name in item.fifo_names}
    groups = {item.name: item.fifo_names for item in project.streams}
    for name, depth in (chosen or {}).items():
        if name not in groups and name not in depths:
            raise UserError(f"no stream is named '{name}'; {did_you_mean(name, groups)}")
        if depth < 1:
            raise UserError(f"depth {depth} of stream '{name}' must be at least 1")
        for fifo in groups.get(name, (name,)):
            depths[fifo] = depth
    return depths
