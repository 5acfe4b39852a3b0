"""Pareto sweep of a model or of a finished build, with table and plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet import progress
from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.output_folder import EXPLORE_FOLDER, PARETO_PLOT, REPORT_NAME

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.parallelism.explore import SweepResult


DEFAULT_BOARDS = ("KV260", "Ultra96")
"""Boards a model is swept on unless others are named: those of the published method."""


@dataclass(frozen=True)
class Subject:
    """What is swept: a hardware graph, the boards to sweep by default, where results go.

    `is_build`: the folder lies in a build, whose report shows the sweep. `coefficients_file`: of
    the cost model, None for the shipped ones.
    """

    graph: ModelWrapper
    boards: tuple[str, ...]
    folder: Path
    is_build: bool
    coefficients_file: str | None = None


def find_subject(source: str) -> Subject:
    """The hardware graph of a build's output folder, or of a model with every optimisation.

    Raises:
        UserError: neither a build nor a model that can become hardware.
    """
    if (Path(source) / REPORT_NAME).is_file():
        build = FinishedBuild.open(source)
        boards = (build.config.board,)
        folder = build.folder / EXPLORE_FOLDER
        coefficients_file = build.config.coefficients_file
        return Subject(build.hardware_graph(), boards, folder, True, coefficients_file)
    from finn_resnet.model_source import find_model

    path = find_model(source)
    folder = Path(f"{EXPLORE_FOLDER}_{path.stem}")
    return Subject(_optimised_graph(path), DEFAULT_BOARDS, folder, False)


def _optimised_graph(path: Path) -> ModelWrapper:
    from finn_resnet.importing import load_model
    from finn_resnet.transformation import lower, optimise

    return optimise(lower(load_model(path)))


def explore_subject(
    subject: Subject,
    modes: Sequence[str],
    shares: Sequence[float],
    workers: int | None = None,
    scheduler: str | None = None,
) -> list[SweepResult]:
    """Sweep the subject; results that its folder already holds are not computed again.

    Returns:
        The Pareto front, by board and cycles.

    Raises:
        UserError: an illegal board, mode or share, or a folder or coefficients file that cannot be
            used.
    """
    from finn_resnet.parallelism.coefficients import calibrated
    from finn_resnet.parallelism.explore import explore, pareto_front, sweep_points

    points = sweep_points(subject.boards, modes, shares)
    with calibrated(subject.coefficients_file):
        results = explore(
            subject.graph,
            points,
            subject.folder,
            workers=workers,
            scheduler=scheduler,
            progress=progress.current().update,
            found=lambda result: progress.current().note(_line(result)),
        )
    _plot(results, subject.folder / PARETO_PLOT)
    return pareto_front(results)


def _line(result: SweepResult) -> str:
    point = f"{result.board}, {result.mode}, {result.dsp_share:.0%} DSP, {result.fabric_share:.0%}"
    if result.cycles is None:
        return f"{point} of the rest: {result.problem}"
    return f"{point} of the rest: {result.cycles:,} cycles, {result.dsp:,.0f} DSP"


def _plot(results: list[SweepResult], path: Path) -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        progress.current().note("no plot: pip install 'finn_resnet[plot]' draws one")
        return
    from finn_resnet.parallelism.explore import plot_pareto

    plot_pareto(results, path)
