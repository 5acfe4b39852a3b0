"""Build steps that write the vendor scripts and the deploy folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet.boards import load_board
from finn_resnet.config import BuildConfig

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.deploy.vectors import TestVectors
    from finn_resnet.generation.project_file import Project

# Co-simulation of RTL takes minutes per frame; three frames are the least that overlap.
_SCRIPT_FRAMES = 3
_DRIVER_FRAMES = 20


def step_write_scripts(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write the vendor scripts beside the sources: HLS, IP, block design, bitstream."""
    from finn_resnet.deploy.rtl_scripts import write_rtl_scripts
    from finn_resnet.deploy.scripts import write_scripts

    project = _project(cfg)
    if cfg.backend == "rtl":
        write_rtl_scripts(project, load_board(cfg.board), cfg.output_dir, cfg.clock_mhz)
        return model
    write_scripts(
        model,
        project,
        load_board(cfg.board),
        cfg.output_dir,
        cfg.clock_mhz,
        _vectors(model, project, cfg, _SCRIPT_FRAMES),
    )
    return model


def step_write_driver(model: ModelWrapper, cfg: BuildConfig) -> ModelWrapper:
    """Write the folder to copy to the board: PYNQ driver, parameters, vectors, notebook."""
    from finn_resnet.deploy.deploy_folder import write_deploy_folder

    project = _project(cfg)
    write_deploy_folder(
        model,
        project,
        load_board(cfg.board),
        cfg.output_dir,
        cfg.clock_mhz,
        _vectors(model, project, cfg, _DRIVER_FRAMES),
        input_mean=cfg.input_mean,
        input_std=cfg.input_std,
    )
    return model


def _project(cfg: BuildConfig) -> Project:
    """The project that the generation step left in the output folder."""
    from finn_resnet.generation.project_file import load_project
    from finn_resnet.output_folder import HLS_FOLDER

    return load_project(Path(cfg.output_dir) / HLS_FOLDER)


def _vectors(model: ModelWrapper, project: Project, cfg: BuildConfig, most: int) -> TestVectors:
    """The first of the verification images, executed by qonnx."""
    from finn_resnet.deploy.vectors import model_vectors
    from finn_resnet.verification.images import model_input, verification_images

    images = verification_images(model, cfg).images[:most]
    pictures = model_input(model, images, cfg.input_mean, cfg.input_std)
    return model_vectors(model, project, pictures)
