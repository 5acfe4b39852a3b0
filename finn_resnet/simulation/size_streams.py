"""SizeStreams: the least stream storage that keeps the full rate, found on the generated C++."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp
from qonnx.transformation.base import Transformation

from finn_resnet.generation.project import generate_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.project import Project, ProjectStream, load_project
from finn_resnet.simulation.replay import Replay
from finn_resnet.simulation.run_settings import UNLIMITED, RunSettings
from finn_resnet.simulation.simulate import TimedRun, project_settings
from finn_resnet.simulation.stream_storage import MIN_DEPTH, one_step_less, storage

_TOP = "sized"
_SEARCHED = ("activation", "skip", "window")
_MORE_TOKENS = (0, 2, 14)
_SEARCH_FRAMES = 3


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
    """A stream with one storage step less: another period in cycles, or None for a deadlock."""

    stream: str
    depth: int
    smaller_depth: int
    smaller_period: int | None


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

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        formula = "deadlock" if self.formula_period is None else f"{self.formula_period:,} cycles"
        tight = sum(
            proof.smaller_period is None or proof.smaller_period > self.sized_period
            for proof in self.skip_proofs
        )
        return (
            f"{self.sized_period:,} cycles per frame with the sized streams, "
            f"{self.full_rate_period:,} with unlimited ones, {formula} with the formulas' depths; "
            f"{self.sized_bits:,} bits of streams instead of {self.formula_bits:,}, skip "
            f"connections {self.sized_skip_bits:,} instead of {self.formula_skip_bits:,}; one step "
            f"less slows or blocks {tight} of {len(self.skip_proofs)} skip streams"
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

    Raises:
        UserError: no C++ compiler.
    """

    def __init__(self, frames: int = 4, progress: Callable[[int, int], None] | None = None) -> None:
        super().__init__()
        self.frames = frames
        self.progress = progress
        self.report: SizingReport | None = None

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
            project_dir = generate_project(_with_constant_weights(model), folder, _TOP).directory
            self.report = _Sizing(project_dir, Path(folder), self.frames, self.progress).report()
        for stream in self.report.streams:
            _store(model, stream)
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


def _store(model: ModelWrapper, stream: SizedStream) -> None:
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
    """The search on one generated project; depths are by stream declaration, in tokens."""

    def __init__(
        self,
        project_dir: Path,
        folder: Path,
        frames: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.project: Project = load_project(project_dir)
        self.frames = frames
        self.progress = progress
        self.simulations = 0
        self.base = project_settings(self.project)
        self.run = TimedRun(self.project, compile_project(project_dir, timed=True), folder)
        unlimited = {stream.name: UNLIMITED for stream in self.project.streams}
        unlimited.update(dict.fromkeys(self._names("parameter"), MIN_DEPTH))
        # One frame records which streams every iteration uses; the rest is replayed.
        recorded = self.run(self._settings(unlimited), 1)
        self.base.ends = {
            stream.name: (stream.writer, stream.reader) for stream in recorded.streams
        }
        self.replay = Replay(self.project, self.run.pattern, folder)
        self.full_rate = self._simulate(unlimited).cycles_per_frame

    def report(self) -> SizingReport:
        """Search, prove, and compare with the depths the project had."""
        depths = self._shrunk(self._evenly_fed_depths())
        proof = self.run(self._settings(depths), self.frames).demand_progress()
        formula = self._simulate({stream.name: stream.depth for stream in self.project.streams})
        streams = tuple(
            SizedStream(
                item.name,
                item.node,
                item.output,
                item.kind,
                len(item.fifo_names),
                item.width_bits,
                item.depth,
                depths[item.name],
            )
            for item in self.project.streams
        )
        skips = [stream for stream in streams if stream.kind == "skip"]
        return SizingReport(
            full_rate_period=self.full_rate,
            sized_period=proof.cycles_per_frame,
            formula_period=_period(formula),
            formula_bits=sum(stream.formula_bits for stream in streams),
            sized_bits=sum(stream.bits for stream in streams),
            formula_skip_bits=sum(stream.formula_bits for stream in skips),
            sized_skip_bits=sum(stream.bits for stream in skips),
            streams=streams,
            skip_proofs=tuple(self._tightness(depths)),
            simulations=self.simulations,
        )

    def _names(self, *kinds: str) -> list[str]:
        return [stream.name for stream in self.project.streams if stream.kind in kinds]

    def _unlimited(self) -> dict[str, int]:
        """Unlimited streams, but for those outside the search."""
        for more in _MORE_TOKENS:
            depths = {
                stream.name: max(stream.depth, MIN_DEPTH) + more
                for stream in self.project.streams
                if stream.kind == "internal"
            }
            depths.update(dict.fromkeys(self._names("parameter"), MIN_DEPTH))
            depths.update(dict.fromkeys(self._names(*_SEARCHED), UNLIMITED))
            if self._holds(depths):
                return self._with_short_windows(depths)
        raise RuntimeError("the window buffers slow the design whatever lies around them")

    def _with_short_windows(self, depths: dict[str, int]) -> dict[str, int]:
        """Two tokens in every window stream that does not limit the rate with them."""
        short = dict.fromkeys(self._names("window"), MIN_DEPTH)
        if self._holds({**depths, **short}):
            return {**depths, **short}
        alone = [name for name in short if self._holds({**depths, name: MIN_DEPTH})]
        together = {**depths, **dict.fromkeys(alone, MIN_DEPTH)}
        return together if self._holds(together) else depths

    def _settings(self, depths: dict[str, int]) -> RunSettings:
        fifos = {
            fifo: depths.get(stream.name, MIN_DEPTH)
            for stream in self.project.streams
            for fifo in stream.fifo_names
        }
        return replace(self.base, depths=fifos)

    def _simulate(
        self, depths: dict[str, int], spread: dict[str, int] | None = None
    ) -> SimulationResult:
        self.simulations += 1
        settings = replace(self._settings(depths), spread=spread or {})
        return self.replay(settings, _SEARCH_FRAMES)

    def _needed(self, result: SimulationResult, stream: ProjectStream) -> int:
        """Depth with which `result` would have been the same, over all lanes."""
        return max(MIN_DEPTH, *(result.stream[fifo].needed_depth for fifo in stream.fifo_names))

    def _evenly_fed_depths(self) -> dict[str, int]:
        """Depths of the schedule with evenly spaced input and unlimited streams."""
        spread = {port.name: self.full_rate for port in self.project.inputs}
        depths = self._unlimited()
        return self._trimmed(self._simulate(depths, spread), depths)

    def _holds(self, depths: dict[str, int]) -> SimulationResult | None:
        """The simulation with these depths if it keeps the full rate."""
        result = self._simulate(depths)
        period = _period(result)
        return result if period is not None and period <= self.full_rate else None

    def _shrunk(self, depths: dict[str, int]) -> dict[str, int]:
        """Depths after every stream has given up all the steps it can."""
        result = self._holds(depths)
        if result is None:
            raise RuntimeError("the depths of a schedule at the full rate do not keep it")
        depths = self._trimmed(result, depths)
        searched = [stream for stream in self.project.streams if stream.kind in _SEARCHED]
        order = sorted(searched, key=lambda s: -self._storage(s, depths[s.name]))
        for index, stream in enumerate(order):
            if self.progress:
                self.progress(index, len(order))
            while (less := one_step_less(depths[stream.name], stream.width_bits)) is not None:
                found = self._holds({**depths, stream.name: less})
                if found is None:
                    break
                depths = self._trimmed(found, {**depths, stream.name: less})
        return depths

    def _trimmed(self, result: SimulationResult, depths: dict[str, int]) -> dict[str, int]:
        """Depths without the tokens that `result` never used; the run stays the same."""
        return {
            stream.name: min(depths[stream.name], self._needed(result, stream))
            for stream in self.project.streams
        }

    def _storage(self, stream: ProjectStream, depth: int) -> float:
        return len(stream.fifo_names) * storage(depth, stream.width_bits)

    def _tightness(self, depths: dict[str, int]) -> list[TightnessProof]:
        proofs = []
        for stream in self.project.streams:
            less = one_step_less(depths[stream.name], stream.width_bits)
            if stream.kind == "skip" and less is not None:
                result = self._simulate({**depths, stream.name: less})
                proofs.append(
                    TightnessProof(stream.name, depths[stream.name], less, _period(result))
                )
        return proofs


def _period(result: SimulationResult) -> int | None:
    """Cycles per frame; None for a deadlock."""
    return None if result.deadlock else result.cycles_per_frame
