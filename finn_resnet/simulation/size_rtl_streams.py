"""SizeRtlStreams: the least stream storage that keeps an RTL network's full rate."""

from __future__ import annotations

from collections.abc import Callable

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.generation.project_file import Project
from finn_resnet.generation.rtl.rtl_network import RtlNetwork, build_rtl
from finn_resnet.simulation.depth_search import SEARCH_FRAMES, DepthSearch, period_of
from finn_resnet.simulation.measurements import SimulationResult
from finn_resnet.simulation.rtl_schedule import rtl_project, rtl_schedule
from finn_resnet.simulation.run_settings import UNLIMITED, RunSettings
from finn_resnet.simulation.size_streams import (
    SizingReport,
    TightnessProof,
    bits_of,
    sized_stream,
    store_depth,
)
from finn_resnet.simulation.stream_storage import one_step_less
from finn_resnet.transformation.set_stream_depths import DEPTHS_PROPERTY


class SizeRtlStreams(Transformation):
    """Give every stream the least depth, in storage steps, that keeps the full frame rate.

    As `SizeStreams`, but for the RTL's own modules: the timing is exact, so nothing is sized for a
    band of pipeline depths.

    Args:
        frames: overlapping frames of the last simulation, at least 3.
        progress: called with (finished, expected) streams.
    """

    def __init__(self, frames: int = 4, progress: Callable[[int, int], None] | None = None) -> None:
        super().__init__()
        self.frames = frames
        self.progress = progress
        self.report: SizingReport | None = None

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        network = build_rtl(model, "sized")
        self.report = _sized(network, self.frames, self.progress)
        for stream in self.report.streams:
            store_depth(model, stream)
        model.set_metadata_prop(DEPTHS_PROPERTY, "sized")
        return model, False


class _RtlDepthSearch(DepthSearch):
    """A long FIFO passes a token on later than the unlimited one its depth was read from."""

    def _evenly_fed_depths(self, depths: dict[str, int]) -> dict[str, int]:
        found = super()._evenly_fed_depths(depths)
        while not self.holds(found):
            found = {name: depth + (depth + 7) // 8 for name, depth in found.items()}
        return found

    def _trimmed(self, result, depths, least=None) -> dict[str, int]:
        """Only where the shorter streams, whose FIFOs may be of other kinds, keep the rate."""
        found = super()._trimmed(result, depths, least or {})
        return found if UNLIMITED in depths.values() or self.holds(found) else depths


def _sized(
    network: RtlNetwork, frames: int, progress: Callable[[int, int], None] | None
) -> SizingReport:
    project = rtl_project(network)
    search = _RtlDepthSearch(project, RunSettings({}), _simulation(network, project), progress)
    depths = search.least_depths()
    proof = rtl_schedule(network, frames, depths=depths).demand_progress()
    formula = rtl_schedule(network, frames)
    streams = tuple(sized_stream(item, depths[item.name]) for item in project.streams)
    return SizingReport(
        full_rate_period=search.full_rate,
        sized_period=proof.cycles_per_frame,
        formula_period=period_of(formula),
        **bits_of(streams),
        streams=streams,
        skip_proofs=tuple(_tightness(search, project, depths)),
        simulations=search.trials,
        band=None,
    )


def _simulation(network: RtlNetwork, project: Project) -> Callable[[RunSettings], SimulationResult]:
    def run(settings: RunSettings) -> SimulationResult:
        depths = {item.name: settings.depths[item.fifo_names[0]] for item in project.streams}
        return rtl_schedule(network, SEARCH_FRAMES, depths=depths, spread=settings.spread)

    return run


def _tightness(search: DepthSearch, project: Project, depths: dict[str, int]):
    for stream in project.streams:
        less = one_step_less(depths[stream.name], stream.width_bits)
        if stream.kind == "skip" and less is not None:
            period = period_of(search.simulate({**depths, stream.name: less}))
            yield TightnessProof(stream.name, depths[stream.name], less, period, search.full_rate)
