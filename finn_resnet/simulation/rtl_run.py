"""Run frames through a whole generated RTL network in Verilator."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from finn_resnet.generation.project_file import Project, ProjectPort, ProjectTensor
from finn_resnet.generation.rtl.rtl_network import RtlNetwork
from finn_resnet.generation.task_code import BEAT_BYTES
from finn_resnet.simulation.runner import (
    SimulatedCodes,
    SimulationError,
    checked_codes,
    decode_tensor,
    run_executable,
)
from finn_resnet.simulation.verilator import RTL_LIBRARY, cached_program


@dataclass(frozen=True)
class RtlRun:
    """What a run gave: codes, and (first, last) clock of every frame's beats by port."""

    codes: SimulatedCodes
    frames: dict[str, list[tuple[int, int]]]

    def ends(self, outputs: tuple[ProjectPort, ...]) -> list[int]:
        """The clock in which the last beat of each frame left."""
        ports = [self.frames[port.name] for port in outputs]
        return [max(end for _, end in frame) for frame in zip(*ports, strict=True)]


class RtlSimulation:
    """A network with probes as a program.

    Args:
        network: from ``build_rtl(..., probes=True)``.
        project: the C++ project of the same graph, whose tensors name the streams.

    Raises:
        UserError: no Verilator.
        VerilationError: the RTL is refused.
    """

    def __init__(self, network: RtlNetwork, project: Project) -> None:
        self.network, self.project = network, project
        texts = {**network.sources, **network.memories, "ports.hpp": self._port_table()}
        # Memories are read by their bare name: the run takes place beside them.
        main = RTL_LIBRARY / "simulation" / "network.cpp"
        self.program = cached_program(texts, network.top, main, list(network.sources))

    @property
    def tensors(self) -> list[ProjectTensor]:
        """The tensors that streams with probes carry."""
        shown = {edge.tensor for edge in self.network.probed}
        return [tensor for tensor in self.project.tensors if tensor.name in shown]

    def _port_table(self) -> str:
        ports = [
            f'{{"{p.name}", {"true" if p in self.network.inputs else "false"}, {_beats(p)}, '
            + ", ".join(f"&top.{p.name}_T{end}" for end in ("VALID", "READY", "LAST", "DATA"))
            + "}"
            for p in (*self.network.inputs, *self.network.outputs)
        ]
        bits = {edge.tensor: edge.codes.bits for edge in self.network.probed}
        shown = [
            f'{{"{t.stream}", {t.lanes}, {t.ch_par}, {bits[t.name]}, {t.element_bytes}, '
            f"{'true' if t.signed else 'false'}, &top.{t.stream}_probe_valid, "
            f"&top.{t.stream}_probe_data}}"
            for t in self.tensors
        ]
        return (
            f"std::vector<port> ports_of(Vtop& top) {{ return {{{', '.join(ports)}}}; }}\n"
            f"std::vector<shown_stream> shown_of(Vtop& top) {{ return {{{', '.join(shown)}}}; }}\n"
        )

    def run(
        self, codes: dict[str, np.ndarray], progress: Callable[[int, int], None] | None = None
    ) -> RtlRun:
        """Run frames of integer codes [N, H, W, C], by input name, back to back at full rate.

        Raises:
            SimulationError: the network stands still or breaks the protocol.
            UserError: codes of the wrong shape or out of range.
        """
        frames = len(next(iter(codes.values())))
        with tempfile.TemporaryDirectory(prefix="finn_resnet_") as name:
            folder = Path(name)
            for file, text in self.network.memories.items():
                (folder / file).write_text(text, encoding="utf-8")
            for port in self.network.inputs:
                beats = _packed(checked_codes(port, codes[port.name]), port)
                beats.tofile(folder / f"in_{port.name}.bin")
            run_executable(self.program, [".", str(frames)], frames, progress, folder=folder)
            outputs = {p.name: _unpacked(folder, p, frames) for p in self.network.outputs}
            tensors = {t.name: decode_tensor(t, folder, frames) for t in self.tensors}
            return RtlRun(SimulatedCodes(outputs, tensors), _frames(folder / "cycles.txt"))


def _beats(port: ProjectPort) -> int:
    return -(-port.frame_bytes // BEAT_BYTES)


def _packed(codes: np.ndarray, port: ProjectPort) -> np.ndarray:
    """Frames as zero-padded beats."""
    raw = np.ascontiguousarray(codes).reshape(len(codes), -1).view(np.uint8)
    return np.pad(raw, ((0, 0), (0, _beats(port) * BEAT_BYTES - raw.shape[1])))


def _unpacked(folder: Path, port: ProjectPort, frames: int) -> np.ndarray:
    """Codes [N, H, W, C] of an output port's beats.

    Raises:
        SimulationError: the padding of a frame's last beat is not zero.
    """
    raw = np.fromfile(folder / f"out_{port.name}.bin", np.uint8).reshape(frames, -1)
    if raw[:, port.frame_bytes :].any():
        raise SimulationError(f"port '{port.name}': the last beat of a frame is not zero-padded")
    codes = np.ascontiguousarray(raw[:, : port.frame_bytes]).view(port.dtype)
    return codes.reshape(frames, *port.shape[1:])


def _frames(path: Path) -> dict[str, list[tuple[int, int]]]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, *times = line.split()
        found[name] = list(zip(map(int, times[::2]), map(int, times[1::2]), strict=True))
    return found
