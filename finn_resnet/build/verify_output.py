"""Verification of a build's C++ on images, with the settings of its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from finn_resnet import progress
from finn_resnet.config import BuildConfig
from finn_resnet.output_folder import HLS_FOLDER, ORIGINAL_MODEL
from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbForm
from finn_resnet.verification.images import model_input, verification_images

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.verification import Verification


@dataclass(frozen=True)
class OutputCheck:
    """The C++ against its reference, and what it changed of the original model.

    `verification` compares with the original model unless the build was asked to change codes,
    then with the hardware graph; `changed_codes` counts the differences from the original. The last
    `generated_images` pictures were made to reach what photographs do not.
    """

    verification: Verification
    changed_codes: int
    generated_images: int


def verify_output(model: ModelWrapper, cfg: BuildConfig, *, ap_int: bool = False) -> OutputCheck:
    """Compare the C++ in `cfg.output_dir` with the original model, every tensor of integers.

    Args:
        model: the hardware graph the C++ was generated from.
        cfg: names the output folder and the images.
        ap_int: compile with the vendor's integer headers instead of native integers.

    Raises:
        UserError: unfit images, no C++ compiler, no ap_int headers.
    """
    from finn_resnet.importing import read_model
    from finn_resnet.verification import verify_project
    from finn_resnet.verification.generated_pictures import generated_pictures
    from finn_resnet.verification.verify_against_graph import verify_against_graph

    folder = Path(cfg.output_dir)
    image_set = verification_images(model, cfg)
    pictures = model_input(model, image_set.images, cfg.input_mean, cfg.input_std)
    generated = generated_pictures(model)
    typical = len(pictures)
    pictures = np.concatenate([pictures, generated])
    may_change = AbsorbForm.of(cfg.optimisations["absorb_add"]) is AbsorbForm.ACCUMULATOR
    options = {"ap_int": ap_int, "progress": progress.current().update}
    original = verify_project(
        model,
        read_model(folder / ORIGINAL_MODEL),
        folder / HLS_FOLDER,
        pictures,
        image_set.labels,
        missing_ok=may_change,
        typical=typical,
        **options,
    )
    changed = original.mismatched_codes
    if changed and may_change:
        against_graph = verify_against_graph(model, folder / HLS_FOLDER, pictures, **options)
        # Accuracy is still that of the C++ and of the original model.
        against_graph.accuracy_accelerator = original.accuracy_accelerator
        against_graph.accuracy_reference = original.accuracy_reference
        return OutputCheck(against_graph, changed, len(generated))
    return OutputCheck(original, 0, len(generated))
