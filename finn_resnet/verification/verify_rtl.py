"""Bit- and cycle-exact comparison of a whole RTL network with the model and its own schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.project_file import Project
from finn_resnet.generation.rtl.rtl_network import build_rtl
from finn_resnet.simulation.rtl_run import RtlSimulation
from finn_resnet.simulation.rtl_schedule import rtl_schedule
from finn_resnet.simulation.runner import SimulatedCodes
from finn_resnet.verification.observation import observe
from finn_resnet.verification.output_port import output_ports
from finn_resnet.verification.reference import Reference
from finn_resnet.verification.verify import Comparison, Verification


@dataclass(frozen=True)
class RtlVerification:
    """Result of a run of the RTL.

    ``verification`` compares every output code and every quantised tensor that a stream carries
    with the model; ``ends`` and ``predicted_ends`` are the clocks in which frames ended.
    """

    verification: Verification
    ends: list[int]
    predicted_ends: list[int]

    @property
    def failure(self) -> str | None:
        """One line that says what is wrong, None where nothing is."""
        if self.verification.failure:
            return self.verification.failure.replace("C++", "RTL")
        if self.ends != self.predicted_ends:
            return f"frames end in clocks {self.ends}, predicted were {self.predicted_ends}"
        return None


class RtlComparison(Comparison):
    """A generated RTL network and its original, made ready to be compared on pictures."""

    def __init__(
        self,
        model: ModelWrapper,
        original: ModelWrapper,
        project: Project,
        missing_ok: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._model, self._project = model, project
        self._reference = Reference(original)
        self._ports = output_ports(model, project)
        network = build_rtl(model, project.top, probes=True)
        self._simulation = RtlSimulation(network, project)
        self._progress = progress
        required = set() if missing_ok else set(self._reference.tensors)
        seen = observe(model, project, self._reference.inner_tensors, required)
        # The others lie inside tasks, where the C++ shows them; what they become is seen.
        self._observations = [item for item in seen if item.stream is not None]
        self.ends: list[int] = []
        self.predicted_ends: list[int] = []

    def _accelerate(self, codes: np.ndarray) -> SimulatedCodes:
        network = self._simulation.network
        run = self._simulation.run({network.inputs[0].name: codes}, self._progress)
        self.ends = run.ends(tuple(network.outputs))
        self.predicted_ends = rtl_schedule(network, len(codes), trace=True).frame_ends
        return run.codes


def verify_rtl(
    model: ModelWrapper,
    original: ModelWrapper,
    project: Project,
    pictures: np.ndarray,
    *,
    missing_ok: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RtlVerification:
    """Run pictures back to back through the RTL in Verilator, and compare codes and cycles.

    Args:
        model: hardware graph the RTL is generated from.
        original: QONNX model as read from its file.
        project: the C++ project of the same graph.
        pictures: float32 [N, C, H, W], what the model takes; all of them are in one run.
        missing_ok: leave out tensors whose rounding the build was asked to drop.
        progress: called with (pictures done, pictures).

    Raises:
        UserError: no Verilator, pictures of the wrong shape, nodes without RTL.
        SimulationError: the RTL stands still or breaks the protocol.
    """
    comparison = RtlComparison(model, original, project, missing_ok, progress)
    result = comparison.run(pictures)
    return RtlVerification(result, comparison.ends, comparison.predicted_ends)
