"""The steps of a build: functions `step(model, cfg) -> model`, run in the order of `DEFAULT_STEPS`.

Each wraps one transformation or one room's entry point and writes its part of report.json in
`cfg.output_dir`. All state between steps is the graph and what lies in that folder, so that steps
can be left out, reordered where that makes sense, or replaced by a user's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finn_resnet import progress
from finn_resnet.build import report_sections
from finn_resnet.build.rtl_output import simulate_rtl_output, verify_rtl_output
from finn_resnet.build.simulate_output import simulate_output
from finn_resnet.build.verify_output import verify_output
from finn_resnet.config import BuildConfig
from finn_resnet.errors import DeadlockError
from finn_resnet.transformation import LOWERING, OPTIMISATIONS
from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbForm

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

DEFAULT_STEPS = (
    *(f"step_{name}" for name in (*LOWERING, *OPTIMISATIONS)),
    "step_set_parallelism",
    "step_insert_width_adapters",
    "step_set_stream_depths",
    "step_size_streams",
    "step_generate",
    "step_write_scripts",
    "step_write_driver",
    "step_estimate",
    "step_simulate",
    "step_verify",
    "step_write_html_report",
)


def step_merge_batch_norm(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Merge batch normalisations into the convolutions before them, codes unchanged."""
    return model.transform(LOWERING["merge_batch_norm"]())


def step_lower_to_hardware(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Turn the quantised graph into one hardware node for each task."""
    model = model.transform(LOWERING["lower_to_hardware"]())
    report_sections.record_model(model, cfg)
    return model


def step_fuse_requant_chains(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Fuse chains of quantisers into the task before them where that is proven equal."""
    return model.transform(LOWERING["fuse_requant_chains"]())


def step_merge_downsample(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Compute 1x1 downsample convolutions inside the convolution that reads the same pixels."""
    return _optimise(model, cfg, "merge_downsample")


def step_forward_window_buffer(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Feed skip connections from the window buffer of the first convolution."""
    return _optimise(model, cfg, "forward_window_buffer")


def step_absorb_add(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Add skip values inside the second convolution of a residual block."""
    return _optimise(model, cfg, "absorb_add", AbsorbForm.of(cfg.optimisations["absorb_add"]))


def step_set_parallelism(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Choose the unroll factors by integer programming, or take those set by hand."""
    from finn_resnet.boards import load_board
    from finn_resnet.parallelism import AnnotateParallelism, ApplyFolding

    if cfg.folding_config_file is not None:
        return model.transform(ApplyFolding(cfg.folding_config_file))
    search = AnnotateParallelism(
        load_board(cfg.board),
        cfg.mode,
        clock_mhz=cfg.clock_mhz,
        target_fps=cfg.target_fps,
        caps={name: percent / 100 for name, percent in cfg.caps.items()},
        allow_uram=cfg.allow_uram,
        suggest=True,
    )
    model = model.transform(search)
    report_sections.record_parallelism(search.solution, cfg)
    return model


def step_insert_width_adapters(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Put an adapter on every stream whose ends disagree on lanes or channels per token."""
    from finn_resnet.transformation import InsertWidthAdapters

    return model.transform(InsertWidthAdapters())


def step_set_stream_depths(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Set the stream depths of the published formulas."""
    from finn_resnet.transformation import SetStreamDepths

    return model.transform(SetStreamDepths())


def step_size_streams(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Size the streams by cycle-level simulation of what will be generated."""
    from finn_resnet.simulation.depth_band import DepthBand
    from finn_resnet.simulation.size_rtl_streams import SizeRtlStreams
    from finn_resnet.simulation.size_streams import SizeStreams

    if not cfg.auto_fifo_depths:
        return model
    shown, band = progress.current().update, DepthBand(**cfg.pipeline_depth_band)
    sizing: SizeRtlStreams | SizeStreams
    if cfg.backend == "rtl":
        sizing = SizeRtlStreams(cfg.simulation_frames, shown)
    else:
        sizing = SizeStreams(cfg.simulation_frames, shown, cfg.top_name, band)
    model = model.transform(sizing)
    report_sections.record_sizing(sizing.report, cfg)
    return model


def step_generate(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write the HLS C++ project to `hls/` in the output folder, and with `backend` rtl to `rtl/`
    the SystemVerilog, whose reference the C++ then is."""
    from finn_resnet.generation.project import generate_project
    from finn_resnet.generation.rtl.rtl_project import generate_rtl_project

    generate_project(model, cfg.output_dir, cfg.top_name, cfg.backend)
    if cfg.backend == "rtl":
        generate_rtl_project(model, cfg.output_dir, cfg.top_name)
    return model


def step_write_scripts(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write the vendor scripts beside the C++: HLS, IP, block design, bitstream."""
    from finn_resnet.build import deploy_steps

    return deploy_steps.step_write_scripts(model, cfg)


def step_write_driver(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write `deploy/`, the folder to copy to the board: PYNQ driver, vectors, notebook."""
    from finn_resnet.build import deploy_steps

    return deploy_steps.step_write_driver(model, cfg)


def step_estimate(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Estimate cycles and resources of every task with the cost model."""
    from finn_resnet.boards import load_board

    report_sections.record_estimate(model, load_board(cfg.board), cfg)
    return model


def step_simulate(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Measure rate, latency and stream occupancy on the generated C++, cycle by cycle; with
    `backend` rtl, of the RTL by its exact schedule.

    Raises:
        DeadlockError: the design stands still.
    """
    outcome = simulate_rtl_output(model, cfg) if cfg.backend == "rtl" else simulate_output(cfg)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.section["deadlock"]:
        raise DeadlockError(outcome.section["deadlock"])
    return model


def step_verify(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Compare the integer codes of the C++ with the execution of the original model."""
    checks = {name: verify_output(model, cfg, ap_int=name == "ap_int") for name in cfg.verify_steps}
    if checks:
        report_sections.record_verification(checks, cfg)
    if checks and cfg.backend == "rtl":
        verify_rtl_output(model, cfg)
    return model


def step_write_html_report(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write report.html from report.json."""
    from finn_resnet.report.html import write_html_report

    write_html_report(cfg.output_dir)
    return model


def _optimise(model: ModelWrapper, cfg: BuildConfig, name: str, *arguments: object) -> ModelWrapper:
    """Apply an optimisation if the configuration asks for it, and report what it did.

    The skip buffers of the published formulas before and after show its effect on storage.
    """
    before = len(model.graph.node)
    bits_before, bram_before = _formula_skip_storage(model)
    if cfg.optimisations[name] is not False:
        model = model.transform(OPTIMISATIONS[name](*arguments))
    removed = before - len(model.graph.node)
    bits_after, bram_after = _formula_skip_storage(model)
    facts = {
        "applied": removed > 0,
        "changed_codes": None,
        "removed_nodes": removed,
        "formula_skip_bits_before": bits_before,
        "formula_skip_bits_after": bits_after,
        "formula_skip_bram36_before": bram_before,
        "formula_skip_bram36_after": bram_after,
    }
    report_sections.record_optimisation(cfg, name, facts)
    return model


def _formula_skip_storage(model: ModelWrapper) -> tuple[int, float]:
    """Bits of all skip buffers by the published formulas, and their BRAM36 (cost model).

    Unroll factors are not chosen yet, so a word is one code.
    """
    from finn_resnet.parallelism.memory_cost import fifo_cost
    from finn_resnet.transformation.skip_buffers import skip_buffers

    buffers = skip_buffers(model)
    bram36 = sum(fifo_cost(buffer.codes, buffer.bits).bram36 for buffer in buffers)
    return sum(buffer.total_bits for buffer in buffers), bram36
