"""Simulation and verification of a build's RTL, with the settings of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finn_resnet import progress
from finn_resnet.build import report_sections
from finn_resnet.build.simulate_output import SimulationOutcome
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.output_folder import HLS_FOLDER, ORIGINAL_MODEL
from finn_resnet.report.report_file import update_report
from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbForm

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.verification.verify_rtl import RtlVerification

_KEYS = (
    "frames",
    "cycles_per_frame",
    "predicted_cycles_per_frame",
    "fps",
    "mismatched_codes",
    "compared_codes",
    "failure",
    "not_checked",
)


def simulate_rtl_output(
    model: ModelWrapper, cfg: BuildConfig, depths: Mapping[str, int] | None = None
) -> SimulationOutcome:
    """The RTL's exact schedule; that of the build as it is goes into its report.

    Args:
        model: the hardware graph.
        cfg: names the output folder, the number of frames and the clock.
        depths: tokens by stream, to try in place of the build's.

    Raises:
        UserError: no C++ compiler, or a stream that does not exist.
    """
    from finn_resnet.generation.rtl.rtl_network import build_rtl
    from finn_resnet.simulation.rtl_schedule import rtl_project, rtl_schedule

    network = build_rtl(model, cfg.top_name)
    unknown = sorted(set(depths or {}) - {stream.name for stream in rtl_project(network).streams})
    if unknown:
        raise UserError(f"no stream of the RTL is named '{unknown[0]}'; see report.json")
    result = rtl_schedule(network, cfg.simulation_frames, depths=depths or {})
    section = report_sections.simulation_section(result, cfg)
    if not depths:
        update_report(cfg.output_dir, "simulation", section)
    return SimulationOutcome(section, False)


def verify_rtl_output(model: ModelWrapper, cfg: BuildConfig) -> dict[str, Any]:
    """Run the whole RTL in Verilator; section `rtl_simulation` of the report.

    Without Verilator one line says so, and the section what was not checked.

    Raises:
        UserError: unfit images.
    """
    from finn_resnet.generation.project_file import load_project
    from finn_resnet.importing import read_model
    from finn_resnet.simulation.verilator import find_verilator
    from finn_resnet.verification.images import model_input, verification_images
    from finn_resnet.verification.verify_rtl import verify_rtl

    folder = Path(cfg.output_dir)
    try:
        find_verilator()
    except UserError as missing:
        progress.current().note(str(missing))
        section = _section(None, cfg) | {"not_checked": str(missing)}
        update_report(folder, "rtl_simulation", section)
        return section
    image_set = verification_images(model, cfg)
    pictures = model_input(model, image_set.images, cfg.input_mean, cfg.input_std)
    count = cfg.rtl_simulation_frames
    checked = verify_rtl(
        model,
        read_model(folder / ORIGINAL_MODEL),
        load_project(folder / HLS_FOLDER),
        pictures[[n % len(pictures) for n in range(count)]],
        missing_ok=AbsorbForm.of(cfg.optimisations["absorb_add"]) is AbsorbForm.ACCUMULATOR,
        progress=progress.current().update,
    )
    section = _section(checked, cfg)
    update_report(folder, "rtl_simulation", section)
    return section


def _section(checked: RtlVerification | None, cfg: BuildConfig) -> dict[str, Any]:
    """Cycles per frame are those between the ends of the last two frames."""
    if checked is None:
        return dict.fromkeys(_KEYS)
    cycles = checked.ends[-1] - checked.ends[-2]
    predicted = checked.predicted_ends[-1] - checked.predicted_ends[-2]
    found = checked.verification
    return {
        "frames": found.images,
        "cycles_per_frame": cycles,
        "predicted_cycles_per_frame": predicted,
        "fps": cfg.clock_mhz * 1e6 / cycles,
        "mismatched_codes": found.mismatched_codes,
        "compared_codes": found.compared_codes,
        "failure": checked.failure,
        "not_checked": None,
    }
