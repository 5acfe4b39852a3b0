"""Everything that can be wrong with a build, checked before its first file is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet.build.steps import DEFAULT_STEPS
from finn_resnet.config import BuildConfig
from finn_resnet.config.loader import is_file_name
from finn_resnet.errors import UserError
from finn_resnet.model_source import find_model
from finn_resnet.output_folder import check_output_folder
from finn_resnet.top_name import top_name_from
from finn_resnet.verification.images import model_input, verification_images

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

# Steps that compile the generated C++.
_COMPILING_STEPS = ("step_size_streams", "step_simulate", "step_verify")


def completed(config: BuildConfig) -> BuildConfig:
    """`config` with the model found and every key that was left out filled in.

    Raises:
        UserError: unknown model or board, or a part that is not the board's.
    """
    from finn_resnet.boards import load_board

    board = load_board(config.board)
    if config.fpga_part is not None and config.fpga_part != board.part:
        raise UserError(
            f"config keys 'board' and 'fpga_part' contradict: {board.name} has {board.part}, not "
            f"{config.fpga_part}; leave fpga_part out"
        )
    if config.clock_mhz is not None and config.clock_mhz > board.max_clock_mhz:
        raise UserError(
            f"a clock of {config.clock_mhz:g} MHz is beyond {board.name}: its device takes at most "
            f"{board.max_clock_mhz:g} MHz; lower --clock-mhz or synth_clk_period_ns"
        )
    path = find_model(config.model)
    # The settings are kept with the output and read again from there: files by their full path.
    given = {key: getattr(config, key) for key in ("folding_config_file", "verify_images")}
    given["board"] = config.board if is_file_name(config.board) else None
    files = {key: str(Path(name).resolve()) for key, name in given.items() if name is not None}
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    return config.replace(
        **files,
        model=str(path.resolve()),
        fpga_part=board.part,
        output_dir=config.output_dir or f"output_{name}_{board.name.lower()}",
        synth_clk_period_ns=config.synth_clk_period_ns or 1000 / board.clock_mhz,
        top_name=config.top_name or top_name_from(path.stem, config.backend),
        steps=config.steps or DEFAULT_STEPS,
    )


def checked_model(config: BuildConfig) -> ModelWrapper:
    """Load the model of a completed configuration and check all that a build of it needs.

    Returns:
        The tidied model.

    Raises:
        UserError: the output folder, the board file, the model, the images or the compiler are not
            fit.
    """
    from finn_resnet.importing import load_model
    from finn_resnet.importing.findings import refuse
    from finn_resnet.lowering import check_model

    inputs = [config.model, config.folding_config_file, config.verify_images]
    check_output_folder(
        Path(config.output_dir), [Path(path) for path in inputs if path is not None]
    )
    if config.folding_config_file is not None and not Path(config.folding_config_file).is_file():
        raise UserError(
            f"folding file '{config.folding_config_file}' does not exist; give a JSON file"
        )
    _check_board(config)
    _check_tools(config)
    model = load_model(config.model)
    refuse(check_model(model))
    if "step_verify" in config.steps and config.verify_steps:
        images = verification_images(model, config).images
        model_input(model, images, config.input_mean, config.input_std)
    return model


def _check_board(config: BuildConfig) -> None:
    """A processing system the board file describes must be complete."""
    if "step_write_scripts" in config.steps:
        from finn_resnet.boards import load_board
        from finn_resnet.deploy.processing_system import processing_system

        board = load_board(config.board)
        if board.processing_system:
            processing_system(board)


def _check_tools(config: BuildConfig) -> None:
    compiles = set(_COMPILING_STEPS) & set(config.steps)
    if not config.verify_steps:
        compiles.discard("step_verify")
    if not config.auto_fifo_depths:
        compiles.discard("step_size_streams")
    if compiles:
        from finn_resnet.simulation.compiler import check_compiler

        check_compiler()
    if "step_verify" in compiles and "ap_int" in config.verify_steps:
        from finn_resnet.simulation.ap_headers import find_ap_headers

        find_ap_headers()
