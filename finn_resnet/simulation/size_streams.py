"""SizeStreams: the least stream storage that keeps the full rate, found on the generated C++."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp
from qonnx.transformation.base import Transformation

from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import Project, ProjectStream, load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.depth_band import (
    DEFAULT_BAND,
    BandReport,
    BandSearch,
    DepthBand,
    at_depths,
)
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, DepthSearch, period_of
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.replay import Replay, part_of_pattern
from finn_resnet.simulation.run_settings import RunSettings
from finn_resnet.simulation.simulate import TimedRun, project_settings
from finn_resnet.simulation.stream_storage import MIN_DEPTH, one_step_less
from finn_resnet.transformation.set_stream_depths import DEPTHS_PROPERTY


@dataclass(frozen=True)
class SizedStream:
    """One stream declaration before and after, in tokens per FIFO."""

    name: str
    node: str
    output: int | None
    kind: str
    fifos: int
    width_bits: int
    formula_depth: int
    depth: int

    @property
    def formula_bits(self) -> int:
        """Bits of all its FIFOs with the depth the graph had."""
        return self.fifos * self.width_bits * self.formula_depth

    @property
    def bits(self) -> int:
        """Bits of all its FIFOs as sized."""
        return self.fifos * self.width_bits * self.depth


@dataclass(frozen=True)
class TightnessProof:
    """A stream with one storage step less: another period in cycles, or None for a deadlock.

    ``period`` is the one the sized stream keeps, of the same point of the band.
    """

    stream: str
    depth: int
    smaller_depth: int
    smaller_period: int | None
    period: int

    @property
    def is_tight(self) -> bool:
        """Whether the step less slows or blocks the design."""
        return self.smaller_period is None or self.smaller_period > self.period


@dataclass(frozen=True)
class SizingReport:
    """What `SizeStreams` found.

    ``full_rate_period`` is the frame period in cycles with unlimited streams, ``sized_period`` that
    of the generated C++ with the sized ones, ``formula_period`` that with the depths the graph had
    (None for a deadlock). Bits are depth times width over all FIFOs.
    """

    full_rate_period: int
    sized_period: int
    formula_period: int | None
    formula_bits: int
    sized_bits: int
    formula_skip_bits: int
    sized_skip_bits: int
    streams: tuple[SizedStream, ...]
    skip_proofs: tuple[TightnessProof, ...]
    simulations: int
    band: BandReport | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        formula = "deadlock" if self.formula_period is None else f"{self.formula_period:,} cycles"
        tight = sum(proof.is_tight for proof in self.skip_proofs)
        text = (
            f"{self.sized_period:,} cycles per frame with the sized streams, "
            f"{self.full_rate_period:,} with unlimited ones, {formula} with the formulas' depths; "
            f"{self.sized_bits:,} bits of streams instead of {self.formula_bits:,}, skip "
            f"connections {self.sized_skip_bits:,} instead of {self.formula_skip_bits:,}; one step "
            f"less slows or blocks {tight} of {len(self.skip_proofs)} skip streams"
        )
        return f"{text}; {self._band_text()}" if self.band else text

    def _band_text(self) -> str:
        band = self.band
        points = f"{band.corners} corners and {band.random_points} random points"
        reach = f"pipelines up to {band.factor:g} times the model's stages plus {band.stages}"
        price = f"{band.added_bits:,} of the bits are for it"
        if band.deadlocks:
            return f"{reach}: {band.deadlocks} of {points} deadlock; {price}"
        proof = "no point deadlocks" if band.complete else "no deadlock found (proof incomplete)"
        loss = 100 * (band.worst_period / self.sized_period - 1)
        return (
            f"{reach}: {proof}, at most {band.worst_period:,} cycles in {points} ({loss:.1f} % "
            f"more); {price}"
        )


class SizeStreams(Transformation):
    """Give every stream the least depth, in storage steps, that keeps the full frame rate.

    The full rate is that of unlimited streams, the slowest task's. Three kinds of streams are no
    part of the search: parameter streams keep two tokens; window buffers keep their formulas'
    (eq. 20 and 21), a few more only if those alone limit the rate; window streams keep two tokens,
    because the same data is smaller in front of the window buffer, unless that limits the rate (a
    stride: the rows between two output rows must pass the buffer while the convolution works).

    The others get the depths of a schedule at the full rate, made by sending the input evenly
    through unlimited streams: with the largest overlap of token lifetimes as depth no write has to
    come later, so the design is at least as fast without the even input too (its cycles are the
    least solution of the same constraints). Then each stream, the largest first, gives up storage
    steps as long as the rate holds.

    The result is a local optimum: no single one of them can give up one more step. It is proven by
    a last simulation of the generated C++ itself, and for each skip stream by one with a step less.
    ``out_depths`` and ``internal_depths`` are set; ``report`` holds the findings after `apply`.

    Args:
        frames: overlapping frames of each simulation, at least 3.
        progress: called with (finished, expected) simulations.
        band: pipeline depths the streams must hold for (docs/simulation.md).
        top_name: of the project that will be generated. Under the same name it is compiled here
            already, and only the depths differ, which a run takes from project.json.

    Raises:
        UserError: no C++ compiler.
    """

    def __init__(
        self,
        frames: int = 4,
        progress: Callable[[int, int], None] | None = None,
        top_name: str = "sized",
        band: DepthBand = DEFAULT_BAND,
    ) -> None:
        super().__init__()
        self.frames = frames
        self.progress = progress
        self.top_name = top_name
        self.band = band
        self.report: SizingReport | None = None

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
            constant = _with_constant_weights(model)
            project_dir = generate_project(constant, folder, self.top_name).directory
            sizing = _Sizing(project_dir, Path(folder), self.frames, self.band, self.progress)
            self.report = sizing.report()
        for stream in self.report.streams:
            store_depth(model, stream)
        model.set_metadata_prop(DEPTHS_PROPERTY, "sized")
        return model, False


def _with_constant_weights(model: ModelWrapper) -> ModelWrapper:
    """A copy without weights that are loaded: they pass in the first frame only, and what is
    recorded of one frame is replayed for all."""
    model = ModelWrapper(copy.deepcopy(model.model))
    for node in model.get_nodes_by_op_type("ParameterStream"):
        op = getCustomOp(node)
        if op.get_nodeattr("mem_style") == "uram":
            op.set_nodeattr("mem_style", "bram")
    return model


def store_depth(model: ModelWrapper, stream: SizedStream) -> None:
    """Write a depth into the attributes of the node that owns the stream."""
    node = next(node for node in model.graph.node if node.name == stream.node)
    op = getCustomOp(node)
    if stream.output is not None:
        depths = list(op.depths())
        depths[stream.output] = stream.depth
        op.set_nodeattr("out_depths", depths)
        return
    internal = json.loads(op.get_nodeattr("internal_depths") or "{}")
    internal[stream.name] = stream.depth
    op.set_nodeattr("internal_depths", json.dumps(internal, sort_keys=True))


class _Sizing:
    """The search and its proof on one generated project."""

    def __init__(
        self,
        project_dir: Path,
        folder: Path,
        frames: int,
        band: DepthBand,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.band = band
        self.project = load_project(project_dir)
        self.frames = frames
        self.base = project_settings(self.project)
        self.run = TimedRun(self.project, compile_project(project_dir, timed=True), folder)
        # One frame records which streams every iteration uses; the rest is replayed.
        recorded = self.run(self._settings(DepthSearch.unlimited(self.project)), 1)
        self.base.ends = {item.name: (item.writer, item.reader) for item in recorded.streams}
        self.whole = self._search(self.project, self.run.pattern, progress)
        self.search = self._search_without_parameters(progress)

    def _search(
        self, project: Project, pattern: Path, progress: Callable[[int, int], None] | None
    ) -> DepthSearch:
        replay = Replay(project, pattern, pattern.parent)
        return DepthSearch(
            project, self.base, lambda settings: replay(settings, SEARCH_FRAMES), progress
        )

    def _search_without_parameters(
        self, progress: Callable[[int, int], None] | None
    ) -> DepthSearch:
        """A search that leaves out the parameter tasks, a quarter of all iterations.

        They have a word ready every cycle. Should they limit the rate all the same, they stay in.
        """
        streams = [stream for stream in self.project.streams if stream.kind != "parameter"]
        writers = {stream.node for stream in self.project.streams if stream.kind == "parameter"}
        tasks = [task for task in self.project.tasks if task.node not in writers]
        project = replace(self.project, streams=tuple(streams), tasks=tuple(tasks))
        ports = {port.name for port in (*project.inputs, *project.outputs)}
        pattern = self.run.pattern.with_name("without_parameters.txt")
        names = {task.name for task in tasks} | ports
        fifos = {*project.stream_of_fifo, *ports}
        whole = self.run.pattern.read_text(encoding="utf-8")
        pattern.write_text(part_of_pattern(whole, names, fifos), encoding="utf-8")
        search = self._search(project, pattern, progress)
        return search if search.full_rate == self.whole.full_rate else self.whole

    def report(self) -> SizingReport:
        """Search, prove, and compare with the depths the project had."""
        depths, band, proof = self._proven_depths()
        formula = self.whole.simulate({item.name: item.depth for item in self.project.streams})
        streams = tuple(sized_stream(item, depths[item.name]) for item in self.project.streams)
        return SizingReport(
            full_rate_period=self.whole.full_rate,
            sized_period=proof.cycles_per_frame,
            formula_period=period_of(formula),
            **bits_of(streams),
            streams=streams,
            skip_proofs=tuple(self._tightness(depths)),
            simulations=sum(search.trials for search in {*self.searches, self.search, self.whole}),
            band=band,
        )

    def _proven_depths(self) -> tuple[dict[str, int], BandReport | None, SimulationResult]:
        """The depths found, what they do over the band, and the run of the C++ at the full rate."""
        for search in (self.search, self.whole):
            unsearched = {item.name: MIN_DEPTH for item in self.project.streams}
            found, band = self._banded(search, search.least_depths())
            depths = unsearched | found
            proof = self.run(self._settings(depths), self.frames)
            period = period_of(proof)
            if period is not None and period <= self.whole.full_rate:
                break
        return depths, band, proof.demand_progress()

    def _banded(
        self, search: DepthSearch, depths: dict[str, int]
    ) -> tuple[dict[str, int], BandReport | None]:
        """Depths that hold over the band, from those for the modelled pipelines."""
        self.searches = [search]
        if self.band.is_point:
            return depths, None
        ends = {name: both for name, both in self.base.ends.items() if all(both)}
        banded = BandSearch(search.project, self.band, lambda point: at_depths(search, point), ends)
        self.searches += banded.searches
        widened = banded.widened(depths)
        return widened, banded.report(depths, widened)

    def _settings(self, depths: dict[str, int]) -> RunSettings:
        return replace(self.base, depths=DepthSearch.fifo_depths(self.project, depths))

    def _tightness(self, depths: dict[str, int]) -> Iterator[TightnessProof]:
        for stream in self.project.streams:
            depth = depths[stream.name]
            less = one_step_less(depth, stream.width_bits)
            if stream.kind == "skip" and less is not None:
                proofs = (
                    TightnessProof(
                        stream.name,
                        depth,
                        less,
                        period_of(search.simulate({**depths, stream.name: less})),
                        search.full_rate,
                    )
                    for search in self.searches
                )
                last = next(proofs)
                while not last.is_tight and (following := next(proofs, None)) is not None:
                    last = following
                yield last


def bits_of(streams: Sequence[SizedStream]) -> dict[str, int]:
    """The bits a `SizingReport` gives: of all streams and of skip streams, before and sized."""
    skips = [stream for stream in streams if stream.kind == "skip"]
    return {
        "formula_bits": sum(stream.formula_bits for stream in streams),
        "sized_bits": sum(stream.bits for stream in streams),
        "formula_skip_bits": sum(stream.formula_bits for stream in skips),
        "sized_skip_bits": sum(stream.bits for stream in skips),
    }


def sized_stream(stream: ProjectStream, depth: int) -> SizedStream:
    """A project's stream, before with its own depth and now with ``depth`` (tokens per FIFO)."""
    return SizedStream(
        stream.name,
        stream.node,
        stream.output,
        stream.kind,
        len(stream.fifo_names),
        stream.width_bits,
        stream.depth,
        depth,
    )
