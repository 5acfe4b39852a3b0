"""What the build steps write into report.json, section by section."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finn_resnet.config import BuildConfig
from finn_resnet.report.report_file import read_report, update_report

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.boards import Board


def record_model(model: ModelWrapper, cfg: BuildConfig) -> None:
    """Section `model`: file, digest, multiply-accumulates per frame and parameters.

    `model` is the hardware graph before any optimisation. A layer computes
    oh * ow * och * ich * fh * fw products (DESIGN, eq. 12).
    """
    macs = params = 0
    for node in model.get_nodes_by_op_type("StreamConv"):
        op = model.get_customop_wrapper(node)
        oh, ow, och, ich, fh, fw = op.attrs("oh", "ow", "och", "ich", "fh", "fw")
        macs += oh * ow * och * ich * fh * fw
        params += och * ich * fh * fw + och
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
