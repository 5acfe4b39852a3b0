"""The streams of a build, sized again for the pipeline depths that a vendor's tool reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finn_resnet import progress
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import load_project
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.parallelism.coefficients import replaced_coefficients
from finn_resnet.simulation.size_streams import SizeStreams

if TYPE_CHECKING:
    from finn_resnet.build.finished_build import FinishedBuild


def resize(
    build: FinishedBuild, entries: Mapping[str, Mapping[str, Any]], folder: Path
) -> dict[str, Any]:
    """Size the streams with the coefficients ``entries``, write the project to ``folder``/hls.

    Returns:
        What changes: ``summary`` of the sizing, and ``streams`` with their depth as built and for
        the real pipeline depths.

    Raises:
        UserError: no C++ compiler.
    """
    top = load_project(build.folder / HLS_FOLDER).top
    before = {s.name: s.depth for s in load_project(build.folder / HLS_FOLDER).streams}
    with replaced_coefficients(entries):
        sizing = SizeStreams(build.config.simulation_frames, progress.current().update, top)
        model = build.hardware_graph().transform(sizing)
        generate_project(model, folder, top)
    after = {s.name: s.depth for s in load_project(folder / HLS_FOLDER).streams}
    return {
        "summary": str(sizing.report),
        "streams": [
            {"name": name, "built_depth": before[name], "depth": depth}
            for name, depth in after.items()
            if before[name] != depth
        ],
    }
