"""Batches of images through float network, QONNX and C++, over as many processes as wanted."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
import onnxruntime

from finn_resnet.build.finished_build import FinishedBuild
from finn_resnet.evaluation.float_network import FloatNetwork
from finn_resnet.evaluation.subject import may_change_codes
from finn_resnet.importing import read_model
from finn_resnet.output_folder import HLS_FOLDER, ORIGINAL_MODEL
from finn_resnet.verification.images import model_input
from finn_resnet.verification.verify import BATCH, Comparison, Verification


@dataclass(frozen=True)
class BatchResult:
    """Codes of a batch compared, and the float network's labels [N], None where there is none."""

    verification: Verification
    float_labels: np.ndarray | None
    float_s: float


class Evaluator:
    """A finished build and the float network behind it, ready to run batches of images."""

    def __init__(self, build: FinishedBuild, float_model: Path | None) -> None:
        """Raises UserError where there is no C++ compiler or the float network is unreadable."""
        original = read_model(build.folder / ORIGINAL_MODEL)
        self._config = build.config
        self._model = original
        self._float = None if float_model is None else FloatNetwork(float_model)
        self._comparison = Comparison(
            build.hardware_graph(),
            original,
            build.folder / HLS_FOLDER,
            missing_ok=may_change_codes(build),
        )

    def run(self, images: np.ndarray, first: int) -> BatchResult:
        """Run images uint8 [N, H, W, C]; mismatches count images from `first`.

        Raises:
            UserError: the build's mean or deviation is for another number of channels.
            SimulationError: the C++ broke one of its own rules.
        """
        pictures = model_input(self._model, images, self._config.input_mean, self._config.input_std)
        verification = self._comparison.run(pictures, first)
        if self._float is None:
            return BatchResult(verification, None, 0.0)
        start = perf_counter()
        labels = self._float.labels(pictures)
        return BatchResult(verification, labels, perf_counter() - start)


def run_batches(
    build: FinishedBuild, images: np.ndarray, float_model: Path | None = None, workers: int = 1
) -> Iterator[BatchResult]:
    """Results of all images uint8 [N, H, W, C], batch by batch and in order.

    More than one process needs a main module that can be imported, as programs of Python's
    `multiprocessing` do.

    Raises:
        UserError, CompilationError, SimulationError: as `Evaluator`.
    """
    starts = range(0, len(images), BATCH)
    batches = [images[start : start + BATCH] for start in starts]
    if workers == 1:
        yield from map(Evaluator(build, float_model).run, batches, starts)
        return
    sources = [(build.folder.resolve(), float_model)] * len(starts)
    with _pool(min(workers, len(starts))) as pool:
        yield from pool.map(_run_in_worker, sources, batches, starts)


def cores() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes; an interrupt or a fault ends them after the batch they are at."""
    # Spawned, not forked: onnxruntime's threads do not survive a fork.
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_prepare_worker
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Leave interrupts to the parent, and the other cores to the other workers.

    qonnx starts an onnxruntime session for each node, with as many threads as there are cores.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = partial(onnxruntime.InferenceSession, sess_options=options)
    onnxruntime.InferenceSession = session


def _run_in_worker(source: tuple[Path, Path | None], images: np.ndarray, first: int) -> BatchResult:
    return _evaluator(*source).run(images, first)


@lru_cache(maxsize=1)
def _evaluator(folder: Path, float_model: Path | None) -> Evaluator:
    """Made once in each worker process, which lives as long as one evaluation."""
    return Evaluator(FinishedBuild.open(folder), float_model)
