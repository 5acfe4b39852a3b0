"""Pareto sweep: cycles per frame against DSPs, LUTs and block RAM over budgets and boards.

Every point is one parallelism search with its own caps, so points are independent: they run in
parallel processes (or on a dask cluster), each finished one is appended to ``points.jsonl`` at
once, and a later sweep into the same folder only computes what is missing.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import onnx
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import RESOURCE_NAMES, Board, load_board
from finn_resnet.errors import UserError
from finn_resnet.parallelism.annotate_parallelism import AnnotateParallelism
from finn_resnet.parallelism.coefficients import coefficients, replaced_coefficients
from finn_resnet.parallelism.milp import DEFAULT_CAPS

POINTS_FILE = "points.jsonl"
DEFAULT_SHARES = (0.25, 0.5, 0.75, 1.0)
_COSTS = ("cycles", "dsp", "lut", "bram36")


@dataclass(frozen=True)
class SweepPoint:
    """One design to search: the fastest on ``board`` within caps scaled by the shares.

    ``dsp_share`` and ``fabric_share`` (LUT, FF, BRAM36, URAM) scale the default caps.
    """

    board: str
    mode: str
    dsp_share: float
    fabric_share: float

    def caps(self) -> dict[str, float]:
        """Caps of the search, as shares of the board's resources."""
        shares = dict.fromkeys(RESOURCE_NAMES, self.fabric_share)
        shares["dsp"] = self.dsp_share
        return {name: DEFAULT_CAPS[name] * share for name, share in shares.items()}


@dataclass(frozen=True)
class SweepResult:
    """Outcome of a point, by the cost model; ``problem`` says why there is no design."""

    key: str
    board: str
    mode: str
    dsp_share: float
    fabric_share: float
    cycles: int | None = None
    fps: float | None = None
    dsp: float | None = None
    lut: float | None = None
    ff: float | None = None
    bram36: float | None = None
    uram: float | None = None
    bottleneck: str = ""
    problem: str = ""


def sweep_points(
    boards: Iterable[str],
    modes: Iterable[str] = ("paper", "full"),
    shares: Sequence[float] = DEFAULT_SHARES,
) -> list[SweepPoint]:
    """All combinations of boards, modes and shares of DSPs and of fabric.

    Raises UserError for an unknown board and for a share outside (0, 1].
    """
    for share in shares:
        if not 0 < share <= 1:
            raise UserError(f"budget share {share!r} must lie above 0 and at most 1 (the caps)")
    names = [load_board(board).name for board in boards]
    return [
        SweepPoint(name, mode, dsp, fabric)
        for name in names
        for mode in modes
        for dsp in shares
        for fabric in shares
    ]


def explore(
    model: ModelWrapper,
    points: Sequence[SweepPoint],
    output_dir: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    found: Callable[[SweepResult], None] | None = None,
) -> list[SweepResult]:
    """Search every point that ``output_dir`` does not hold yet; write CSV and JSON of all.

    The coefficients in use here are those of every process.

    Args:
        model: hardware graph, after the graph optimisations.
        points: what to search (`sweep_points`).
        output_dir: gets ``points.jsonl`` (one result a line, appended as they finish),
            ``points.csv`` and ``pareto.json``.
        workers: parallel processes (all cores if None).
        scheduler: address of a dask scheduler to use instead of local processes.
        progress: called with (finished, all) after each point.
        found: called with each result as it comes.

    Returns:
        Results in the order of ``points``.

    Raises:
        UserError: the folder holds something else, or dask is asked for and not installed.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    content = model.model.SerializeToString(deterministic=True)
    keys = [_key(content, point) for point in points]
    done = _read_results(folder / POINTS_FILE)
    missing = {key: p for key, p in zip(keys, points, strict=True) if key not in done}
    finished = len(points) - len(missing)
    if missing:
        with (
            _executor(workers, scheduler) as executor,
            (folder / POINTS_FILE).open("a", encoding="utf-8") as log,
        ):
            futures = [
                executor.submit(_search, content, k, p, coefficients()) for k, p in missing.items()
            ]
            for future in as_completed(futures):
                result = future.result()
                done[result.key] = result
                log.write(json.dumps(asdict(result)) + "\n")
                log.flush()
                finished += 1
                if progress is not None:
                    progress(finished, len(points))
                if found is not None:
                    found(result)
    results = [done[key] for key in keys]
    _write_tables(folder, results)
    return results


def pareto_front(results: Iterable[SweepResult]) -> list[SweepResult]:
    """Results that no other of the same board beats in cycles, DSPs, LUTs and block RAM."""
    distinct = {(r.board, *(getattr(r, name) for name in _COSTS)): r for r in results if r.cycles}

    def beats(one: tuple, other: tuple) -> bool:
        no_worse = all(a <= b for a, b in zip(one[1:], other[1:], strict=True))
        return one[0] == other[0] and no_worse and one != other

    front = [r for mine, r in distinct.items() if not any(beats(o, mine) for o in distinct)]
    return sorted(front, key=lambda result: (result.board, result.cycles))


def plot_pareto(results: Sequence[SweepResult], path: str | Path) -> None:
    """Frames per second against the share of each resource in use, one panel per resource.

    Raises UserError if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(
            "the Pareto plot needs matplotlib; install it with pip install finn_resnet[plot]"
        ) from error
    figure = Figure(figsize=(12, 4), layout="constrained")
    front = set(pareto_front(results))
    solved = [result for result in results if result.cycles is not None]
    for axes, name in zip(figure.subplots(1, 3, sharey=True), _COSTS[1:], strict=True):
        for board in sorted({result.board for result in solved}):
            budget = load_board(board).budget.as_dict()[name]
            rows = [result for result in solved if result.board == board]
            used = [100 * getattr(result, name) / budget for result in rows]
            sizes = [36 if result in front else 8 for result in rows]
            axes.scatter(used, [result.fps for result in rows], s=sizes, label=board)
        axes.set_xlabel(f"{name} used (%, cost model)")
        axes.grid(visible=True, alpha=0.3)
    figure.axes[0].set_ylabel("frames per second (cost model)")
    figure.axes[0].legend(title="large: Pareto front")
    figure.suptitle("Each point: one search within a share of the board's usual caps")
    figure.savefig(path)


def _search(
    content: bytes, key: str, point: SweepPoint, entries: dict[str, dict[str, Any]]
) -> SweepResult:
    """One search with the coefficients ``entries``, in a worker process."""
    board: Board = load_board(point.board)
    search = AnnotateParallelism(board, point.mode, caps=point.caps())
    try:
        with replaced_coefficients(entries):
            search.apply(ModelWrapper(onnx.load_from_string(content)))
    except UserError as error:
        return SweepResult(key, **asdict(point), problem=str(error))
    solution = search.solution
    return SweepResult(
        key,
        **asdict(point),
        cycles=solution.cycles,
        fps=board.clock_mhz * 1e6 / solution.cycles,
        **solution.resources.as_dict(),
        bottleneck=solution.bottleneck,
    )


def _key(content: bytes, point: SweepPoint) -> str:
    """Identity of a result: model, point, board and cost coefficients."""
    board = repr(load_board(point.board).budget)
    parts = [json.dumps(asdict(point)), board, json.dumps(coefficients())]
    digest = hashlib.sha256(content)
    for part in parts:
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _executor(workers: int | None, scheduler: str | None) -> Executor:
    if scheduler is None:
        # Spawned, not forked: the solver's threads do not survive a fork.
        return ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn"))
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(
            "a dask scheduler needs dask; install it with pip install finn_resnet[dask]"
        ) from error
    return Client(scheduler).get_executor()


def _read_results(path: Path) -> dict[str, SweepResult]:
    """Results of an earlier sweep; a line cut off by an interruption is computed again."""
    results = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            result = SweepResult(**json.loads(line))
        except (json.JSONDecodeError, TypeError) as error:
            if number == len(lines):
                break
            raise UserError(
                f"'{path}' line {number} is no sweep result ({error}); give another folder"
            ) from error
        results[result.key] = result
    return results


def _write_tables(folder: Path, results: Sequence[SweepResult]) -> None:
    columns = [column.name for column in fields(SweepResult)]
    with (folder / "points.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(asdict(result) for result in results)
    front: list[dict[str, Any]] = [asdict(result) for result in pareto_front(results)]
    text = json.dumps({"source": "cost model", "pareto": front}, indent=2)
    (folder / "pareto.json").write_text(text + "\n", encoding="utf-8")
