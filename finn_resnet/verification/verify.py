"""Bit-exact comparison of the generated C++ with the original model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import SimulatedCodes, run_codes
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.verification.coverage import Coverage
from finn_resnet.verification.observation import observe
from finn_resnet.verification.output_port import OutputPort, output_ports
from finn_resnet.verification.reference import Reference, ReferenceRun
from finn_resnet.verification.requantisers import compare_requantisers

BATCH = 25
"""Pictures per step: bounds the memory of reference and dumps."""


@dataclass(frozen=True)
class Mismatch:
    """First differing code: ``index`` is in the original's layout, the picture's number first.

    ``node`` is the hardware task that computed it.
    """

    tensor: str
    node: str
    index: tuple[int, ...]
    expected: int
    found: int

    def __str__(self) -> str:
        return (
            f"tensor {self.tensor} (task {self.node}) at {list(self.index)}: "
            f"the model has {self.expected}, the C++ has {self.found}"
        )


@dataclass
class Verification:
    """Result of a comparison; ``mismatches`` counts differing codes by tensor.

    ``definition`` says what the codes are compared with: "qonnx" (its float32 execution),
    "contract" or "hardware graph" (docs/equality.md). With the contract, ``float32_differences``
    counts by tensor the codes that qonnx has otherwise in float32, and ``unexplained`` those of
    them that float32's error does not explain: these fail the run as a mismatch does. Tensors named
    "... (port)" are bytes of the output port, "... (values)" what the host makes of them,
    "... (thresholds)" requantisers, whose index is [value, channel group, channel].
    ``accuracy_*`` are fractions of correctly labelled pictures, None without labels.
    ``reference_s`` and ``accelerator_s`` are the seconds the execution of the model and the runs of
    the C++ took; the latter include recording every compared stream.
    """

    images: int = 0
    compared_codes: int = 0
    compared_tensors: list[str] = field(default_factory=list)
    mismatches: dict[str, int] = field(default_factory=dict)
    first_mismatch: Mismatch | None = None
    mismatched_labels: int = 0
    accuracy_reference: float | None = None
    accuracy_accelerator: float | None = None
    definition: str = "qonnx"
    float32_differences: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    accelerator_labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    reference_labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    reference_s: float = 0.0
    accelerator_s: float = 0.0

    @property
    def mismatched_codes(self) -> int:
        """Differing codes over all tensors."""
        return sum(self.mismatches.values())

    @property
    def failure(self) -> str | None:
        """One line that says why the run failed, None where it did not."""
        if self.mismatched_codes:
            return (
                f"{self.mismatched_codes:,} codes of the C++ differ from the model; first: "
                f"{self.first_mismatch}"
            )
        if self.mismatched_labels:
            return f"{self.mismatched_labels:,} labels of the C++ differ from the model's"
        if self.unexplained:
            tensor, count = next(iter(self.unexplained.items()))
            return (
                f"{count:,} values of tensor {tensor} differ from qonnx's float32 execution by "
                "more than float32's error"
            )
        return None

    def add(self, other: Verification) -> None:
        """Take in the comparison of the pictures that follow; accuracies are scored at the end."""
        self.images += other.images
        self.compared_codes += other.compared_codes
        for name in ("mismatches", "float32_differences", "unexplained"):
            _add_counts(getattr(self, name), getattr(other, name))
        for tensor, entry in other.coverage.items():
            known = self.coverage.get(tensor)
            self.coverage[tensor] = entry if known is None else known.joined(entry)
        self.first_mismatch = self.first_mismatch or other.first_mismatch
        self.mismatched_labels += other.mismatched_labels
        for name in ("accelerator_labels", "reference_labels"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self.reference_s += other.reference_s
        self.accelerator_s += other.accelerator_s

    def score(self, labels: np.ndarray | None) -> None:
        """Set the accuracies from class numbers of the first pictures; None leaves them None."""
        if labels is not None and len(labels):
            count = len(labels)
            self.accuracy_reference = float((self.reference_labels[:count] == labels).mean())
            self.accuracy_accelerator = float((self.accelerator_labels[:count] == labels).mean())


def _add_counts(total: dict[str, int], other: dict[str, int]) -> None:
    for tensor, count in other.items():
        total[tensor] = total.get(tensor, 0) + count


def to_pictures(images: np.ndarray) -> np.ndarray:
    """Model input [N, C, H, W] float32 in [0, 1] of uint8 images [N, H, W, C]."""
    return np.moveaxis(images, -1, 1).astype(np.float32) / np.float32(255)


def input_codes(model: ModelWrapper, pictures: np.ndarray) -> np.ndarray:
    """Accelerator input codes [N, H, W, C] of float pictures [N, C, H, W].

    Raises:
        UserError: the pictures have another shape than the model's input.
    """
    node = nodes_of(model, "QuantizeInput")[0]
    expected = list(as_op(node).get_nodeattr("shape"))[1:]
    if list(pictures.shape[1:]) != expected:
        found = "x".join(map(str, pictures.shape[1:]))
        raise UserError(
            f"the model takes pictures of {'x'.join(map(str, expected))} (channels x height x "
            f"width), the image set has {found}; resize the images"
        )
    return as_op(node).quantise(pictures)


class Comparison:
    """A generated project and its original, made ready once to be compared on any pictures."""

    def __init__(
        self,
        model: ModelWrapper,
        original: ModelWrapper,
        project_dir: str | Path,
        *,
        every_tensor: bool = True,
        missing_ok: bool = False,
        ap_int: bool = False,
    ) -> None:
        """Compile the project and find where it shows each tensor; arguments: `verify_project`.

        Raises:
            UserError: no C++ compiler or no ap_int headers.
        """
        self._model = model
        self._probes = every_tensor
        self._reference = Reference(original)
        self._executable = compile_project(
            Path(project_dir), ap_int=ap_int, probes=every_tensor, checked=True
        )
        self._project = load_project(self._executable.parent)
        reference = self._reference
        self._ports = output_ports(model, self._project)
        self._observations = []
        if every_tensor:
            self._observations = observe(
                model,
                self._project,
                reference.inner_tensors,
                set() if missing_ok else set(reference.tensors),
            )
        self._streams = sorted({o.stream for o in self._observations if o.stream is not None})

    def empty(self) -> Verification:
        """The comparison of no pictures yet."""
        ports = [f"{port.output} (port)" for port in self._ports]
        return Verification(
            compared_tensors=[*(seen.tensor for seen in self._observations), *ports],
            definition=self._reference.definition,
        )

    def run(self, pictures: np.ndarray, first: int = 0, typical: int = 0) -> Verification:
        """Compare pictures float32 [N, C, H, W]; mismatches count pictures from ``first``.

        The codes of the first ``typical`` pictures are counted (`Coverage.counts`).

        All tensors of these pictures are held at once: give `BATCH` of them.

        Raises:
            UserError: pictures of the wrong shape.
            SimulationError: the C++ broke one of its own rules.
        """
        result = self.empty()
        codes = input_codes(self._model, pictures)
        start = time.perf_counter()
        run = self._accelerate(codes)
        result.accelerator_s = time.perf_counter() - start
        start = time.perf_counter()
        expected = self._reference.run(pictures)
        result.reference_s = time.perf_counter() - start
        result.float32_differences = expected.float32_differences
        result.unexplained = expected.unexplained
        for seen in self._observations:
            wanted = self._reference.integers(expected, seen.tensor)
            result.coverage[seen.tensor] = self._reference.coverage(seen.tensor, wanted, typical)
            found = self._reference.arranged(seen.tensor, seen.codes(run, self._project))
            _compare(result, seen.tensor, seen.node, wanted, found, first)
        for port in self._ports:
            self._compare_port(result, port, expected, port.codes(run), first)
        result.images = len(pictures)
        return result

    def _accelerate(self, codes: np.ndarray) -> SimulatedCodes:
        """Run frames of input codes through the accelerator."""
        return run_codes(self._executable, codes, tensors=self._streams, probes=self._probes)

    def _compare_port(
        self,
        result: Verification,
        port: OutputPort,
        expected: ReferenceRun,
        found: np.ndarray,
        first: int,
    ) -> None:
        """Codes, float values and, of the first output, labels."""
        tensor = self._reference.port_tensor(port.output)
        wanted = self._reference.integers(expected, tensor)
        codes = self._reference.arranged(tensor, found).reshape(wanted.shape)
        _compare(result, f"{port.output} (port)", port.node, wanted, codes, first)
        values = port.values(found)
        values = values.reshape(np.shape(self._reference.values(expected, port.output)))
        off = self._reference.off_values(expected, port.output, values)
        name = f"{port.output} (values)"
        if off.any() and not np.any(codes != wanted):
            _add_counts(result.mismatches, {name: int(off.sum())})
        if port is self._ports[0]:
            reference = self._reference.values(expected, port.output)
            _collect_labels(result, reference, values)


def verify_project(
    model: ModelWrapper,
    original: ModelWrapper,
    project_dir: str | Path,
    pictures: np.ndarray,
    labels: np.ndarray | None = None,
    *,
    every_tensor: bool = True,
    missing_ok: bool = False,
    ap_int: bool = False,
    typical: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Run pictures through the generated C++ and the original, compare integer codes.

    Args:
        model: hardware graph the project was generated from.
        original: QONNX model as read from its file.
        project_dir: the ``hls`` folder of a build.
        pictures: float32 [N, C, H, W], what the model takes.
        labels: class numbers of the first pictures, for the accuracy.
        every_tensor: compare every quantised tensor; False compares the graph outputs alone.
        missing_ok: leave out tensors whose rounding the build was asked to drop.
        ap_int: compile with the vendor's integer headers instead of native integers.
        typical: how many of the first pictures are counted code by code (`Coverage.counts`).
        progress: called with (pictures done, pictures).

    Raises:
        UserError: no C++ compiler, no ap_int headers, or pictures of the wrong shape.
        SimulationError: the C++ broke one of its own rules.
    """
    comparison = Comparison(
        model,
        original,
        project_dir,
        every_tensor=every_tensor,
        missing_ok=missing_ok,
        ap_int=ap_int,
    )
    result = comparison.empty()
    for start in range(0, len(pictures), BATCH):
        batch = pictures[start : start + BATCH]
        counted = min(max(typical - start, 0), len(batch))
        result.add(comparison.run(batch, start, counted))
        if progress is not None:
            progress(result.images, len(pictures))
    if every_tensor:
        _compare_requantisers(result, model, Path(project_dir))
    result.score(labels)
    return result


def _compare_requantisers(result: Verification, model: ModelWrapper, project_dir: Path) -> None:
    """Count codes that differ at the thresholds of the C++'s requantisers."""
    for check, points, expected, found in compare_requantisers(model, project_dir):
        name = f"{check.type_name} (thresholds)"
        result.compared_tensors.append(name)
        result.compared_codes += len(points)
        wrong = np.flatnonzero(expected != found)
        if len(wrong):
            result.mismatches[name] = len(wrong)
            at = wrong[0]
            index = tuple(int(value) for value in points[at])
            mismatch = Mismatch(name, check.node, index, int(expected[at]), int(found[at]))
            result.first_mismatch = result.first_mismatch or mismatch


def _compare(
    result: Verification,
    tensor: str,
    node: str,
    expected: np.ndarray,
    found: np.ndarray,
    start: int,
) -> None:
    """Count differing codes; both in the original's layout."""
    found = found.reshape(expected.shape)
    result.compared_codes += expected.size
    wrong = np.argwhere(found != expected)
    if not len(wrong):
        return
    result.mismatches[tensor] = len(wrong)
    if result.first_mismatch is None:
        at = tuple(int(i) for i in wrong[0])
        index = (at[0] + start, *at[1:])
        result.first_mismatch = Mismatch(tensor, node, index, int(expected[at]), int(found[at]))


def _collect_labels(result: Verification, expected: np.ndarray, found: np.ndarray) -> None:
    ours = found.reshape(len(found), -1).argmax(axis=1)
    theirs = np.asarray(expected).reshape(len(found), -1).argmax(axis=1)
    result.mismatched_labels = int((ours != theirs).sum())
    result.accelerator_labels, result.reference_labels = ours, theirs
