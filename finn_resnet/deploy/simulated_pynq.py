"""Stands for the `pynq` module where there is no board: DMAs in front of the compiled C++.

The driver runs unchanged: `Accelerator(folder, pynq=SimulatedPynq(hls_folder))`. What pynq's DMA
does is kept: a transfer to memory ends with a packet, a packet longer than its buffer is an error,
and what would wait for ever on the board raises `DeviceWaits`.

The C++ runs as one process for each batch. The device keeps what a board keeps between batches, the
bytes sent to the parameter port, and each process starts from them.
"""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from finn_resnet.deploy.block_design import COUNTER, LENGTH_BITS, dma_cell
from finn_resnet.deploy.processing_system import STREAM_BITS
from finn_resnet.generation.project_file import Project, ProjectPort, load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import (
    DEADLOCK_STATUS,
    read_outputs,
    run_executable,
    write_inputs,
)

_BEAT = STREAM_BITS // 8


class DeviceWaits(RuntimeError):
    """The board would wait for ever."""


class Buffer(np.ndarray):
    """What `allocate` returns: an array in memory the DMA reaches."""

    def freebuffer(self) -> None:
        """Nothing to give back."""

    def flush(self) -> None:
        """Nothing is cached."""

    def invalidate(self) -> None:
        """Nothing is cached."""


class SimulatedPynq:
    """`Overlay` and `allocate` for the design in ``project_dir``.

    Args:
        project_dir: folder with project.json, the build's hls folder.
        timed: cycle-level simulation instead of the untimed one.
    """

    def __init__(self, project_dir: str | Path, *, timed: bool = False) -> None:
        self._executable = compile_project(project_dir, timed=timed)

    def Overlay(self, bitfile_name: str) -> SimulatedOverlay:
        """A freshly configured device.

        Raises:
            FileNotFoundError: the name is not that of the design's bitstream.
        """
        project = load_project(self._executable.parent)
        if Path(bitfile_name).name != f"{project.top}.bit":
            raise FileNotFoundError(f"Bitstream file {bitfile_name} does not exist.")
        return SimulatedOverlay(self._executable, project)

    def allocate(self, shape: tuple[int, ...], dtype: Any = np.uint32) -> Buffer:
        """A zeroed buffer."""
        return np.zeros(shape, dtype).view(Buffer)


class SimulatedOverlay:
    """The blocks of the design by name, as attributes, and their parameters in ``ip_dict``."""

    def __init__(self, executable: Path, project: Project) -> None:
        device = _Device(executable, project)
        blocks: dict[str, Any] = {COUNTER: _Counter(device)}
        sides = dict.fromkeys((port.name for port in project.inputs), "C_M_AXIS_MM2S_TDATA_WIDTH")
        sides |= dict.fromkeys((port.name for port in project.outputs), "C_S_AXIS_S2MM_TDATA_WIDTH")
        for port in project.inputs:
            blocks[dma_cell(port.name)] = _Dma(sendchannel=_InputChannel(device, port))
        for index, port in enumerate(project.outputs):
            blocks[dma_cell(port.name)] = _Dma(recvchannel=_OutputChannel(device, port, index))
        if project.parameters is not None:
            name = project.parameters.name
            blocks[dma_cell(name)] = _Dma(sendchannel=_ParameterChannel(device))
            sides[name] = "C_M_AXIS_MM2S_TDATA_WIDTH"
        self._blocks = blocks
        self.ip_dict = {
            dma_cell(name): {
                "parameters": {side: str(STREAM_BITS), "C_SG_LENGTH_WIDTH": str(LENGTH_BITS)}
            }
            for name, side in sides.items()
        }

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_blocks"][name]
        except KeyError as fault:
            raise AttributeError(f"Could not find IP or hierarchy {name} in overlay") from fault


class _Dma:
    def __init__(self, sendchannel: Any = None, recvchannel: Any = None) -> None:
        self.sendchannel = sendchannel
        self.recvchannel = recvchannel


class _Counter:
    """The GPIO that holds the frames of a packet."""

    def __init__(self, device: _Device) -> None:
        self._device = device

    def write(self, offset: int, value: int) -> None:
        """Write the data register."""
        if offset != 0:
            raise ValueError(f"register {offset:#x} is not the data register")
        self._device.frames_per_packet = value


def _bytes_of(array: np.ndarray, start: int, nbytes: int) -> np.ndarray:
    """The bytes of a transfer, a view of ``array``."""
    flat = array.reshape(-1).view(np.uint8)
    end = start + (nbytes or flat.size - start)
    if end > flat.size:
        raise ValueError("the transfer reaches past its buffer")
    if end - start >= 1 << LENGTH_BITS:
        raise ValueError(f"transfer size is more than {(1 << LENGTH_BITS) - 1} bytes")
    return flat[start:end]


class _InputChannel:
    def __init__(self, device: _Device, port: ProjectPort) -> None:
        self._device = device
        self._port = port

    def transfer(self, array: np.ndarray, start: int = 0, nbytes: int = 0) -> None:
        self._device.receive(self._port, _bytes_of(array, start, nbytes).copy())

    def wait(self) -> None:
        """The device has taken the frames."""


class _ParameterChannel:
    def __init__(self, device: _Device) -> None:
        self._device = device

    def transfer(self, array: np.ndarray, start: int = 0, nbytes: int = 0) -> None:
        self._device.load(_bytes_of(array, start, nbytes).tobytes())

    def wait(self) -> None:
        """The device has taken the parameters."""


class _OutputChannel:
    def __init__(self, device: _Device, port: ProjectPort, index: int) -> None:
        self._device = device
        self._port = port
        self._index = index
        self._target: np.ndarray | None = None

    def transfer(self, array: np.ndarray, start: int = 0, nbytes: int = 0) -> None:
        self._target = _bytes_of(array, start, nbytes)

    def wait(self) -> None:
        if self._target is None:
            raise RuntimeError("DMA channel not started")
        packet = self._device.packet(self._index)
        if packet.size > self._target.size:
            raise RuntimeError("DMA Internal Error (transfer too short for its packet)")
        self._target[: packet.size] = packet
        self._target = None


class _Device:
    """The accelerator with its DMAs: frames in, packets of frames out."""

    def __init__(self, executable: Path, project: Project) -> None:
        self._executable = executable
        self._project = project
        self._waiting: dict[str, list[np.ndarray]] = {port.name: [] for port in project.inputs}
        self._results: list[deque[np.ndarray]] = [deque() for _ in project.outputs]
        self._parameters: bytes | None = None
        self.frames_per_packet = 1

    def receive(self, port: ProjectPort, content: np.ndarray) -> None:
        """Frames of an input port, each in whole beats."""
        frame = _frame_bytes(port)
        if content.size % _padded(frame):
            raise DeviceWaits(f"input '{port.name}' has a part of a frame and waits for the rest")
        rows = content.reshape(-1, _padded(frame))[:, :frame]
        codes = np.ascontiguousarray(rows).view(port.dtype)
        self._waiting[port.name] += list(codes.reshape(-1, *port.shape[1:]))

    def load(self, content: bytes) -> None:
        """The parameter port is read once."""
        if self._parameters is not None:
            raise DeviceWaits("the design has its parameters and reads no more")
        self._parameters = content

    def packet(self, output: int) -> np.ndarray:
        """Bytes of the next packet of an output port."""
        if len(self._results[output]) < self.frames_per_packet:
            self._run()
        if len(self._results[output]) < self.frames_per_packet:
            raise DeviceWaits(
                f"{len(self._results[output])} of {self.frames_per_packet} frames of a packet came"
            )
        taken = [self._results[output].popleft() for _ in range(self.frames_per_packet)]
        return np.concatenate(taken)

    def _run(self) -> None:
        """Let the C++ work on the frames that every input has."""
        frames = min(len(frames) for frames in self._waiting.values())
        if frames == 0:
            return
        codes = {name: np.stack(queue[:frames]) for name, queue in self._waiting.items()}
        for queue in self._waiting.values():
            del queue[:frames]
        for index, result in enumerate(self._simulate(codes, frames)):
            self._results[index] += list(result)

    def _simulate(self, codes: dict[str, np.ndarray], frames: int) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
            scratch = Path(folder)
            _, arguments = write_inputs(self._project, codes, scratch)
            if self._project.parameter_file is not None:
                arguments = self._with_own_parameters(arguments, scratch)
            lacking = self._project.parameter_file is not None and self._parameters is None
            accepted = (0, 1, DEADLOCK_STATUS) if lacking else (0,)
            status, text = run_executable(self._executable, arguments, frames, accepted=accepted)
            if status:
                raise DeviceWaits(f"the design waits for its parameters ({text.strip()})")
            outputs = read_outputs(self._project, scratch, frames)
        return [_padded_rows(outputs[port.name]) for port in self._project.outputs]

    def _with_own_parameters(self, arguments: list[str], scratch: Path) -> list[str]:
        """The run's arguments with what came over the port in place of the project's own file."""
        at = arguments.index("--parameters")
        rest = [*arguments[:at], *arguments[at + 2 :]]
        if self._parameters is None:
            return rest
        path = scratch / "received.bin"
        path.write_bytes(self._parameters)
        return [*rest, "--parameters", str(path)]


def _frame_bytes(port: ProjectPort) -> int:
    return int(np.prod(port.shape)) * port.dtype.itemsize


def _padded(size: int) -> int:
    return -(-size // _BEAT) * _BEAT


def _padded_rows(codes: np.ndarray) -> np.ndarray:
    """Bytes [N, beats * 16] of codes [N, H, W, C]."""
    rows = np.ascontiguousarray(codes).reshape(len(codes), -1).view(np.uint8)
    return np.pad(rows, ((0, 0), (0, _padded(rows.shape[1]) - rows.shape[1])))
