"""The evaluation: one data set through float network, QONNX and C++, counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from finn_resnet import progress
from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.evaluation.batches import BatchResult, run_batches
from finn_resnet.evaluation.confusion import confusion_matrix
from finn_resnet.evaluation.float_network import check_float_network
from finn_resnet.evaluation.subject import labelled_images, may_change_codes, opened_build
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.simulation.compiler import compile_project, find_compiler
from finn_resnet.training.data import LabelledImages
from finn_resnet.verification import Verification


@dataclass(frozen=True)
class Evaluation:
    """What was measured on a data set.

    Attributes:
        accuracy: share of images labelled as the data set says, 0 to 1, of `float` (where that
            network was given), `qonnx` and `accelerator` (the generated C++).
        images_per_s: images through all of them, by the clock and all processes together.
        images_per_s_each: images per second of one process in each of them; that of the accelerator
            includes recording every compared tensor.
        verification: integer codes and labels of the C++ against those of the QONNX file.
        may_change_codes: the build was asked for a form that changes codes.
        confusion: int64 [classes, classes] of the accelerator, rows the data set's labels.
        classes: names of the classes.
    """

    accuracy: dict[str, float]
    images_per_s: float
    images_per_s_each: dict[str, float]
    verification: Verification
    may_change_codes: bool
    confusion: np.ndarray
    classes: tuple[str, ...]

    @property
    def images(self) -> int:
        """Number of images."""
        return self.verification.images

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready figures; the keys are stable."""
        found = self.verification
        return {
            "images": found.images,
            "accuracy": self.accuracy,
            "mismatched_labels": found.mismatched_labels,
            "mismatched_codes": found.mismatched_codes,
            "compared_codes": found.compared_codes,
            "images_per_s": round(self.images_per_s, 2),
            "images_per_s_each": {
                name: round(rate, 2) for name, rate in self.images_per_s_each.items()
            },
            "confusion": self.confusion.tolist(),
        }


def evaluate(
    source: str,
    data: str | Path,
    count: int | None = None,
    float_model: Path | None = None,
    workers: int = 1,
) -> Evaluation:
    """Measure a network on the test images of a labelled data set.

    Label is the largest value of the first output, the first of equal ones. The model's input is
    pixel / 255, or as the settings of a build normalise it.

    Args:
        source: QONNX file, name of a shipped model, or output folder of a build. A model is built
            for the occasion: board and parallelism do not change what the C++ computes.
        data: data set in any layout of `finn_resnet.training.data`; its test split is used.
        count: number of images from the start of the split, all if None.
        float_model: ONNX file of the float network the model was made of, to be measured too.
        workers: processes; see `finn_resnet.evaluation.batches.run_batches`.

    Raises:
        UserError: model, build or data set are not fit, or there is no C++ compiler.
        CompilationError, SimulationError: the C++ of a build was edited and is broken.
    """
    find_compiler()
    images = labelled_images(source, data, count)
    if float_model is not None:
        height, width, channels = images.images.shape[1:]
        check_float_network(float_model, (channels, height, width), len(images.classes))
    with opened_build(source) as build:
        return _evaluate_build(build, images, float_model, workers)


def _evaluate_build(
    build: FinishedBuild, images: LabelledImages, float_model: Path | None, workers: int
) -> Evaluation:
    display = progress.current()
    display.begin("compile", 1, 2)
    start = perf_counter()
    # Once, before the processes start: each of them finds the executable in the cache.
    compile_project(build.folder / HLS_FOLDER, probes=True, checked=True)
    display.end("compile", perf_counter() - start)
    display.begin("evaluate", 2, 2)
    results: list[BatchResult] = []
    done = 0
    start = perf_counter()
    for result in run_batches(build, images.images, float_model, workers):
        results.append(result)
        done += result.verification.images
        display.update(done, len(images))
    seconds = perf_counter() - start
    display.end("evaluate", seconds)
    return _summary(results, images, seconds, may_change_codes(build))


def _summary(
    results: list[BatchResult], images: LabelledImages, seconds: float, may_change: bool
) -> Evaluation:
    total = results[0].verification
    for result in results[1:]:
        total.add(result.verification)
    total.score(images.labels)
    accuracy = {"qonnx": total.accuracy_reference, "accelerator": total.accuracy_accelerator}
    process_s = {"qonnx": total.reference_s, "accelerator": total.accelerator_s}
    if results[0].float_labels is not None:
        labels = np.concatenate([result.float_labels for result in results])
        accuracy = {"float": float((labels == images.labels).mean()), **accuracy}
        process_s = {"float": sum(result.float_s for result in results), **process_s}
    classes = images.classes
    return Evaluation(
        accuracy=accuracy,
        images_per_s=len(images) / seconds,
        images_per_s_each={name: len(images) / spent for name, spent in process_s.items()},
        verification=total,
        may_change_codes=may_change,
        confusion=confusion_matrix(images.labels, total.accelerator_labels, len(classes)),
        classes=classes,
    )
