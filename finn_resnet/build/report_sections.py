"""What the build steps write into report.json, section by section."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finn_resnet.config import BuildConfig
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.report.latency import frame_latency
from finn_resnet.report.occupancy import occupancy_curve
from finn_resnet.report.report_file import read_report, update_report

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.boards import Board
    from finn_resnet.build.verify_output import OutputCheck
    from finn_resnet.parallelism.milp import ParallelismSolution
    from finn_resnet.simulation.measurements import SimulationResult
    from finn_resnet.simulation.size_streams import SizingReport


def record_model(model: ModelWrapper, cfg: BuildConfig) -> None:
    """Section `model`: file, digest, multiply-accumulates per frame and parameters.

    `model` is the hardware graph before any optimisation. A layer computes
    oh * ow * och * ich * fh * fw products (eq. 12 of the paper; of a group's ich if grouped).
    """
    from finn_resnet.parallelism.node_shapes import parameter_initialiser
    from finn_resnet.transformation.graph_edit import convolutions

    macs = params = 0
    for op in convolutions(model):
        weights = parameter_initialiser(model, op.weights)
        macs += sum(op.mac_counts().values())
        params += weights.size + len(weights)
    digest = hashlib.sha256(Path(cfg.model).read_bytes()).hexdigest()
    update_report(
        cfg.output_dir,
        "model",
        {"path": cfg.model, "sha256": digest, "macs": macs, "params": params},
    )


def record_board(board: Board, cfg: BuildConfig) -> None:
    """Section `board`: name, part, the clock of this build in MHz and the whole budget."""
    update_report(
        cfg.output_dir,
        "board",
        {
            "name": board.name,
            "part": board.part,
            "clock_mhz": cfg.clock_mhz,
            "budget": board.budget.as_dict(),
        },
    )


def record_optimisation(cfg: BuildConfig, name: str, facts: dict[str, Any]) -> None:
    """Entry `name` of section `optimisations`."""
    section = read_report(cfg.output_dir)["optimisations"] or {}
    update_report(cfg.output_dir, "optimisations", {**section, name: facts})


def record_estimate(model: ModelWrapper, board: Board, cfg: BuildConfig) -> None:
    """Sections `layers`, `totals` and `throughput`, all from the cost model.

    `lut` and `ff` are its higher bounds, `low` the lower bounds of all resources. The clock is an
    assumption until a vendor's tool confirms it, so that the rate is given per MHz too.

    Bits of skip and window buffers are those of the generated streams, depth times width, and of
    the shift registers inside row tasks; null where nothing was generated.
    """
    from finn_resnet.parallelism.estimate import estimate

    found = estimate(model, board, cfg.clock_mhz)
    update_report(cfg.output_dir, "layers", [asdict(layer) for layer in found.layers])
    buffers = _buffer_bits(Path(cfg.output_dir))
    if buffers["window_buffer_bits"] is not None:
        buffers["window_buffer_bits"] += _row_register_bits(model)
    totals = {**found.totals.as_dict(), "low": found.totals.low.as_dict()}
    update_report(cfg.output_dir, "totals", {**totals, **buffers})
    update_report(
        cfg.output_dir,
        "throughput",
        {
            "cycles_per_frame": found.cycles_per_frame,
            "fps": found.fps,
            "fps_per_mhz": 1e6 / found.cycles_per_frame,
            "bottleneck": found.bottleneck,
            "latency_cycles": frame_latency(model, found),
        },
    )


def _buffer_bits(output_dir: Path) -> dict[str, int | None]:
    from finn_resnet.generation.project_file import PROJECT_FILE, load_project

    folder = output_dir / HLS_FOLDER
    if not (folder / PROJECT_FILE).is_file():
        return {"skip_buffer_bits": None, "window_buffer_bits": None}
    streams = load_project(folder).streams
    return {
        f"{name}_buffer_bits": sum(
            stream.depth * stream.width_bits * len(stream.fifo_names)
            for stream in streams
            if stream.kind == kind
        )
        for name, kind in (("skip", "skip"), ("window", "internal"))
    }


def _row_register_bits(model: ModelWrapper) -> int:
    """Codes that the row tasks of window buffers hold, in bits."""
    from qonnx.custom_op.registry import getCustomOp

    bits = 0
    for node in model.get_nodes_by_op_type("WindowBuffer"):
        op = getCustomOp(node)
        if op.get_nodeattr("buffer_style") == "rows":
            fh, ich, ich_par = op.attrs("fh", "ich", "ich_par")
            row = op.row_window()
            codes = row.history * row.in_lanes * -(-ich // ich_par) * ich_par
            bits += fh * codes * model.get_tensor_datatype(node.input[0]).bitwidth()
    return bits


def record_parallelism(found: ParallelismSolution, cfg: BuildConfig) -> None:
    """Entry `parallelism` of section `optimisations`: what was found and how far it is proven.

    No design is faster than `cycles_lower_bound` (the linear relaxation does not fit at any smaller
    count); `resource_gap` is the solver's optimality gap: how far, relatively, the resource use may
    lie above the least at this rate. `changes` are what would allow a design a step faster.
    """
    facts = {
        "applied": True,
        "changed_codes": 0,
        "mode": cfg.mode,
        "cycles": found.cycles,
        "cycles_lower_bound": found.cycles_lower_bound,
        "binds": found.binds,
        "resource_gap": found.resource_gap,
        "changes": [asdict(change) for change in found.changes],
    }
    record_optimisation(cfg, "parallelism", facts)


def record_sizing(sizing: SizingReport, cfg: BuildConfig) -> None:
    """Entry `size_streams` of section `optimisations`: rates and storage before and after."""
    facts = {"applied": True, "changed_codes": None, "summary": str(sizing), **sizing.to_dict()}
    record_optimisation(cfg, "size_streams", facts)


def record_verification(checks: dict[str, OutputCheck], cfg: BuildConfig) -> None:
    """Section `verification`, and the codes that optimisations were found to change.

    `checks` is by way of compilation (`native`, `ap_int`); codes of all of them are counted, the
    first difference found is given, and the rest is that of the first. `definition` says what the
    codes are compared with (docs/equality.md), `float32_differences` how many codes qonnx has
    otherwise in float32; `failure` is null where the verification passed.
    """
    from finn_resnet.verification.coverage import threshold_share

    results = [check.verification for check in checks.values()]
    mismatch = next((r.first_mismatch for r in results if r.first_mismatch), None)
    first = next(iter(checks.values()))
    update_report(
        cfg.output_dir,
        "verification",
        {
            "images": first.verification.images - first.generated_images,
            "generated_images": first.generated_images,
            "compared_codes": sum(r.compared_codes for r in results),
            "mismatched_codes": sum(r.mismatched_codes for r in results),
            "float32_differences": sum(first.verification.float32_differences.values()),
            "first_mismatch": asdict(mismatch) if mismatch else None,
            "mismatched_labels": sum(r.mismatched_labels for r in results),
            "failure": next((r.failure for r in results if r.failure), None),
            "definition": first.verification.definition,
            "compiled_as": list(checks),
            "thresholds_hit": threshold_share(first.verification.coverage),
            "coverage": [
                {"tensor": tensor, **entry.as_dict()}
                for tensor, entry in first.verification.coverage.items()
            ],
            "accuracy": first.verification.accuracy_accelerator,
            "reference_accuracy": first.verification.accuracy_reference,
        },
    )
    if mismatch is None:
        _record_changed_codes(first.changed_codes, cfg)


def _record_changed_codes(changed: int, cfg: BuildConfig) -> None:
    """Only the absorbed addition can change codes; the verified rest changed none."""
    section = read_report(cfg.output_dir)["optimisations"] or {}
    for name, facts in section.items():
        facts["changed_codes"] = changed if name == "absorb_add" else 0
    update_report(cfg.output_dir, "optimisations", section or None)


def simulation_section(result: SimulationResult, cfg: BuildConfig) -> dict[str, Any]:
    """Section `simulation`: measured on the C++, cycle by cycle.

    `fps` is at the build's clock. A stream that was traced has its `occupancy` over time. `band`
    is what the sizing of the streams found over other pipeline depths, null where there was none.
    """
    measured = result.to_dict()
    sizing = (read_report(cfg.output_dir)["optimisations"] or {}).get("size_streams") or {}
    cycles = measured["cycles_per_frame"]
    for entry in measured["streams"]:
        traced = result.stream[entry["name"]]
        if traced.writes:
            entry["occupancy"] = occupancy_curve(traced.writes, traced.reads)
    fps = cfg.clock_mhz * 1e6 / cycles if cycles else None
    return {**measured, "fps": fps, "band": _band_section(sizing.get("band"), cfg)}


def _band_section(band: dict[str, Any] | None, cfg: BuildConfig) -> dict[str, Any] | None:
    if band is None:
        return None
    worst = band["worst_period"]
    return {
        "deadlocks": band["deadlocks"],
        "is_proven": band["complete"] and not band["deadlocks"],
        "worst_cycles_per_frame": worst,
        "worst_fps": cfg.clock_mhz * 1e6 / worst if worst else None,
    }
