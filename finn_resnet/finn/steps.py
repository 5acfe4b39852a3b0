"""Steps of a FINN build: `step_*(model, cfg)` with FINN's ModelWrapper and DataflowBuildConfig.

Give them to FINN by dotted name (`finn_resnet.finn.steps.step_import`) or as functions;
`ESTIMATE_STEPS` and `IP_STEPS` are ready-made lists of names. Leaving an optimisation out switches
it off. From `step_create_partition` on the graph holds FINN layers, so that FINN's own steps and
transformations may be mixed in.

A problem the user can mend is raised as FINN's FINNUserError, which FINN prints as one line; if
FINN itself is missing or broken, as our UserError.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.finn.availability import require_finn
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.transformation import OPTIMISATIONS, lower

Step = Callable[[ModelWrapper, Any], ModelWrapper]

TOP_NAME = "accelerator"
"""Top function of the project that `step_generate_cpp` writes."""

COEFFICIENTS_VARIABLE = "FINN_RESNET_COEFFICIENTS_FILE"
"""Environment variable: a file as `coefficients_file` of our own builds names it.

FINN's configuration has no place for keys of ours.
"""

SIZING_REPORT = "stream_sizing.json"
SIMULATION_REPORT = "cycle_simulation.json"
VERIFICATION_REPORT = "cpp_verification.json"
ORIGINAL_MODEL = "original.onnx"

_SIMULATION_FRAMES = 4


def _finn_step(step: Step) -> Step:
    """Check for FINN first, use the coefficients asked for, raise user errors as FINN's own."""

    @functools.wraps(step)
    def wrapped(model: ModelWrapper, cfg: Any) -> ModelWrapper:
        require_finn()
        from finn.util.exception import FINNUserError

        from finn_resnet.parallelism.coefficients import calibrated

        try:
            with calibrated(os.environ.get(COEFFICIENTS_VARIABLE) or None):
                return step(model, cfg)
        except UserError as problem:
            raise FINNUserError(str(problem)) from problem

    return wrapped


@_finn_step
def step_import(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Bring a QONNX or QCDQ model to one normal form and check that all of it can be mapped.

    The model as given is kept in ``intermediate_models/original.onnx``.
    """
    from finn_resnet.importing import TidyQonnx
    from finn_resnet.importing.findings import refuse
    from finn_resnet.lowering import check_model

    model.save(str(Path(cfg.get_intermediate_models_directory()) / ORIGINAL_MODEL))
    model = model.transform(TidyQonnx())
    refuse(check_model(model))
    return model


@_finn_step
def step_lower(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Merge batch norms, make every task a hardware node, fuse chains of quantisers."""
    return lower(model)


@_finn_step
def step_merge_downsample(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Compute 1x1 downsample convolutions inside the convolution that reads the same pixels."""
    return model.transform(OPTIMISATIONS["merge_downsample"]())


@_finn_step
def step_forward_window_buffer(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Feed skip connections from the window buffer of the first convolution."""
    return model.transform(OPTIMISATIONS["forward_window_buffer"]())


@_finn_step
def step_absorb_add(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Add skip values inside the second convolution of a residual block, every code unchanged."""
    return model.transform(OPTIMISATIONS["absorb_add"]())


@_finn_step
def step_set_parallelism(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Choose the unroll factors: from ``folding_config_file``, else by search.

    The search takes the least resources that reach ``target_fps``, or without one the fastest
    design the board holds.
    """
    return _set_parallelism(model, cfg, "full")


@_finn_step
def step_set_parallelism_paper(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """`step_set_parallelism` in the search space of the published method."""
    return _set_parallelism(model, cfg, "paper")


def _set_parallelism(model: ModelWrapper, cfg: Any, mode: str) -> ModelWrapper:
    from finn_resnet.finn.target import clock_mhz, target_board
    from finn_resnet.parallelism import AnnotateParallelism, ApplyFolding
    from finn_resnet.transformation import SetStreamDepths
    from finn_resnet.transformation.insert_width_adapters import InsertWidthAdapters

    if cfg.folding_config_file is not None:
        choose = ApplyFolding(cfg.folding_config_file)
    else:
        # A FINN node has one stream to each neighbour: window rows cannot travel apart, and
        # weights are a node of their own.
        choose = AnnotateParallelism(
            target_board(cfg),
            mode,
            clock_mhz=clock_mhz(cfg),
            target_fps=cfg.target_fps,
            fuse_streams=False,
        )
    for transformation in (choose, InsertWidthAdapters(), SetStreamDepths()):
        model = model.transform(transformation)
    return model


@_finn_step
def step_size_streams(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Size the streams by cycle-level simulation of the C++, unless ``auto_fifo_depths`` is off.

    What was found and proven goes to `SIZING_REPORT` in FINN's report folder.
    """
    from finn_resnet.simulation.size_streams import SizeStreams

    if not cfg.auto_fifo_depths:
        return model
    sizing = SizeStreams(_SIMULATION_FRAMES)
    model = model.transform(sizing)
    _write_report(cfg, SIZING_REPORT, sizing.report.to_dict())
    return model


@_finn_step
def step_generate_cpp(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Write the whole accelerator as one C++ project to ``hls/`` in the output folder."""
    from finn_resnet.generation.project import generate_project

    generate_project(model, cfg.output_dir, TOP_NAME)
    return model


@_finn_step
def step_simulate(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Measure rate, latency and stream occupancy on the generated C++, cycle by cycle.

    The measurements go to `SIMULATION_REPORT` in FINN's report folder; a design that stands still
    is a user error that names the tasks and the depths that free it.
    """
    from finn_resnet.finn.target import clock_mhz
    from finn_resnet.simulation.simulate import simulate_project

    project_dir = Path(cfg.output_dir) / HLS_FOLDER
    measured = simulate_project(project_dir, frames=_SIMULATION_FRAMES).to_dict()
    cycles = measured["cycles_per_frame"]
    fps = clock_mhz(cfg) * 1e6 / cycles if cycles else None
    _write_report(cfg, SIMULATION_REPORT, {**measured, "fps": fps})
    if measured["deadlock"]:
        raise UserError(measured["deadlock"])
    return model


@_finn_step
def step_verify_cpp(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Compare every quantised tensor of the generated C++ with the model given to `step_import`.

    Pictures: FINN's ``verify_input_npy`` (float32 ``[N, C, H, W]``) where that file exists, else
    one of the lowest codes, one of the highest and one at random. The outcome goes to
    `VERIFICATION_REPORT` in FINN's report folder.

    Raises:
        RuntimeError: a code differs, with tensor, place and both codes.
    """
    from finn_resnet.finn.verify_cpp import verify_cpp

    original = Path(cfg.get_intermediate_models_directory()) / ORIGINAL_MODEL
    result = verify_cpp(model, ModelWrapper(str(original)), cfg)
    _write_report(cfg, VERIFICATION_REPORT, result)
    if result["failure"] is not None:
        raise RuntimeError(f"the verification failed: {result['failure']}")
    return model


@_finn_step
def step_create_partition(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Turn the hardware nodes into FINN's HLS layers, in a partition of their own.

    The graph returned is the accelerator; the float ends stay in
    ``intermediate_models/dataflow_parent.onnx``, as in FINN's own flow.
    """
    from finn.transformation.fpgadataflow.create_dataflow_partition import CreateDataflowPartition
    from finn.transformation.fpgadataflow.specialize_layers import SpecializeLayers
    from qonnx.custom_op.registry import getCustomOp

    from finn_resnet.finn.infer_hardware_layers import InferHardwareLayers
    from finn_resnet.finn.name_nodes import NameNodesAfterLayers
    from finn_resnet.finn.target import clock_mhz, target_board

    models = Path(cfg.get_intermediate_models_directory())
    model = model.transform(InferHardwareLayers(target_board(cfg), clock_mhz(cfg)))
    parent = model.transform(CreateDataflowPartition(str(models / "supported_op_partitions")))
    (partition,) = parent.get_nodes_by_op_type("StreamingDataflowPartition")
    parent.save(str(models / "dataflow_parent.onnx"))
    accelerator = ModelWrapper(getCustomOp(partition).get_nodeattr("model"))
    accelerator = accelerator.transform(SpecializeLayers(cfg._resolve_fpga_part()))
    return accelerator.transform(NameNodesAfterLayers())


@_finn_step
def step_estimate_reports(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """FINN's estimate reports: cycles, resources, operations and parameters of every layer."""
    from finn.builder.build_dataflow_steps import step_generate_estimate_reports

    return step_generate_estimate_reports(model, cfg)


@_finn_step
def step_insert_fifos(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """FINN's FIFOs with our stream depths wherever a stream holds more than two words."""
    from finn.transformation.fpgadataflow.insert_fifo import InsertFIFO
    from finn.transformation.fpgadataflow.specialize_layers import SpecializeLayers

    from finn_resnet.finn.insert_unequal_fifos import InsertUnequalFIFOs
    from finn_resnet.finn.name_nodes import NameNodesAfterLayers

    specialise = SpecializeLayers(cfg._resolve_fpga_part())
    for transformation in (InsertUnequalFIFOs(), InsertFIFO(), specialise, NameNodesAfterLayers()):
        model = model.transform(transformation)
    return model


@_finn_step
def step_prepare_ip(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Write C++ and HLS script of every layer (FINN's PrepareIP)."""
    from finn.transformation.fpgadataflow.prepare_ip import PrepareIP

    return model.transform(PrepareIP(cfg._resolve_fpga_part(), cfg._resolve_hls_clk_period()))


@_finn_step
def step_synthesise_ip(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Run Vitis HLS on every layer."""
    from finn_resnet.finn.synthesise_layers import SynthesiseLayers

    return model.transform(SynthesiseLayers(cfg._resolve_fpga_part()))


@_finn_step
def step_stitch_ip(model: ModelWrapper, cfg: Any) -> ModelWrapper:
    """Stitch the layers' IPs into one with Vivado (FINN's CreateStitchedIP)."""
    from finn.builder.build_dataflow_steps import step_create_stitched_ip

    return step_create_stitched_ip(model, cfg)


def _write_report(cfg: Any, name: str, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=2) + "\n"
    (Path(cfg.get_report_directory()) / name).write_text(text, encoding="utf-8")


def _names(*steps: Step) -> tuple[str, ...]:
    return tuple(f"{__name__}.{step.__name__}" for step in steps)


ESTIMATE_STEPS = _names(
    step_import,
    step_lower,
    *(globals()[f"step_{name}"] for name in OPTIMISATIONS),
    step_set_parallelism,
    step_size_streams,
    step_generate_cpp,
    step_simulate,
    step_verify_cpp,
    step_create_partition,
    step_estimate_reports,
)
"""From a quantised model to simulated, verified C++ and FINN's estimate reports."""

IP_STEPS = (
    *ESTIMATE_STEPS,
    *_names(step_insert_fifos, step_prepare_ip, step_synthesise_ip, step_stitch_ip),
)
"""`ESTIMATE_STEPS` and on to a stitched IP, which needs Vitis and Vivado."""
