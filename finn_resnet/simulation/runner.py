"""Run a compiled simulation on integer codes and read back what its streams carried."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import numpy as np

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import Project, ProjectPort, ProjectTensor, load_project

DEADLOCK_STATUS = 3
INTERRUPTED_STATUS = 130


class SimulationError(RuntimeError):
    """The simulated design broke a rule of its own, or crashed: a fault of the generated C++."""


@dataclass(frozen=True)
class SimulatedCodes:
    """Integer codes of a run, NHWC, frames first.

    ``outputs`` by port name and ``tensors`` by tensor name: [N, H, W, C]. ``probes`` by probe id:
    int64 [N, values per frame] in the order project.json gives.
    """

    outputs: dict[str, np.ndarray]
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    probes: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def output(self) -> np.ndarray:
        """The codes of the only output.

        Raises:
            ValueError: the design has several.
        """
        (codes,) = self.outputs.values()
        return codes


def run_codes(
    executable: Path,
    codes: np.ndarray | Mapping[str, np.ndarray],
    *,
    tensors: Sequence[str] = (),
    probes: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedCodes:
    """Run frames of input codes through a simulation executable.

    Args:
        executable: from `compile_project`.
        codes: integers [N, H, W, C] of the only input, or by input name.
        tensors: names of tensors to read back from their streams.
        probes: read back the accumulators; the executable must be compiled with them.
        progress: called with (frames done, frames) after each frame.

    Raises:
        UserError: codes of the wrong shape or out of range, an unknown tensor.
        SimulationError: the simulation found a fault in the design, or crashed.
    """
    project = load_project(executable.parent)
    wanted = [project.tensor(name) for name in tensors]
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
        scratch = Path(folder)
        frames, arguments = write_inputs(project, codes, scratch)
        if wanted:
            fifos = sorted({name for tensor in wanted for name in tensor.fifo_names})
            arguments += ["--dump", folder, "--streams", ",".join(fifos)]
        if probes:
            arguments += ["--probes", folder]
        run_executable(executable, arguments, frames, progress)
        return SimulatedCodes(
            outputs=read_outputs(project, scratch, frames),
            tensors={item.name: decode_tensor(item, scratch, frames) for item in wanted},
            probes=_read_probes(scratch, frames) if probes else {},
        )


def write_inputs(
    project: Project, codes: np.ndarray | Mapping[str, np.ndarray], folder: Path
) -> tuple[int, list[str]]:
    """Write the input files; the number of frames and the arguments that name all files."""
    by_name = codes if isinstance(codes, Mapping) else {project.inputs[0].name: codes}
    if set(by_name) != {port.name for port in project.inputs}:
        raise UserError(
            f"'{project.top}' has the inputs {[port.name for port in project.inputs]}, codes were "
            f"given for {sorted(by_name)}; give one array for each input"
        )
    counts = set()
    for port in project.inputs:
        checked = checked_codes(port, np.asarray(by_name[port.name]))
        counts.add(len(checked))
        checked.tofile(folder / f"in_{port.name}.bin")
    if len(counts) != 1:
        raise UserError(f"the inputs have different frame counts {sorted(counts)}")
    frames = counts.pop()
    inputs = ",".join(str(folder / f"in_{port.name}.bin") for port in project.inputs)
    outputs = ",".join(str(folder / f"out_{port.name}.bin") for port in project.outputs)
    arguments = ["--input", inputs, "--output", outputs, "--frames", str(frames)]
    if project.parameter_file is not None:
        arguments += ["--parameters", str(project.parameter_file)]
    return frames, arguments


def checked_codes(port: ProjectPort, codes: np.ndarray) -> np.ndarray:
    """The codes in the port's own type.

    Raises:
        UserError: no integers, another frame shape, no frames, or out of the type's range.
    """
    shape = tuple(port.shape[1:])
    if not np.issubdtype(codes.dtype, np.integer):
        raise UserError(
            f"input '{port.name}' takes integer codes, not {codes.dtype}; quantise the pictures "
            "with the model's first Quant"
        )
    if codes.ndim != 4 or codes.shape[1:] != shape or len(codes) == 0:
        raise UserError(
            f"input '{port.name}' takes codes of shape [N, {', '.join(map(str, shape))}] with N >= "
            f"1, not {list(codes.shape)}"
        )
    limits = np.iinfo(port.dtype)
    low, high = int(codes.min()), int(codes.max())
    if low < limits.min or high > limits.max:
        raise UserError(
            f"input '{port.name}' takes codes {limits.min} to {limits.max}, found {low} to {high}; "
            "quantise the pictures with the model's first Quant"
        )
    return codes.astype(port.dtype)


def run_executable(
    executable: Path,
    arguments: Iterable[str],
    frames: int,
    progress: Callable[[int, int], None] | None = None,
    accepted: Sequence[int] = (0,),
    folder: Path | None = None,
) -> tuple[int, str]:
    """Run a simulation to its end, in ``folder`` if given; its exit status and standard error.

    An interrupt is passed on, and raised again once the simulation has stopped; a cycle-level one
    writes what it measured so far.

    Raises:
        SimulationError: the status is not one of ``accepted``.
    """
    command = [str(executable), *arguments, *(["--progress"] if progress else [])]
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=messages, cwd=folder
        ) as process:
            try:
                for line in process.stdout or ():
                    if progress and line.startswith(b"frame "):
                        progress(int(line.split()[1]), frames)
            except BaseException:
                process.send_signal(signal.SIGINT)
                process.communicate()  # a full pipe would keep it from ending
                raise
        messages.seek(0)
        text = messages.read().decode(errors="replace")
    if process.returncode not in accepted:
        raise SimulationError(_one_line(process.returncode, text))
    return process.returncode, text


def _one_line(status: int, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    reason = (telling or lines or ["no message"])[0].removeprefix("error: ")
    if status < 0:
        return f"the simulation was ended by signal {-status}: {reason}"
    return f"the simulation failed: {reason}"


def read_outputs(project: Project, folder: Path, frames: int) -> dict[str, np.ndarray]:
    """Codes [N, H, W, C] of every output port."""
    outputs = {}
    for port in project.outputs:
        codes = np.fromfile(folder / f"out_{port.name}.bin", port.dtype)
        outputs[port.name] = codes.reshape(frames, *port.shape[1:])
    return outputs


def decode_tensor(tensor: ProjectTensor, folder: Path, frames: int) -> np.ndarray:
    """Codes [N, H, W, C] of a tensor from the dumps of its streams in ``folder``.

    Lane l holds the columns w with w % lanes == l; tokens of ``ch_par`` codes, order row, column,
    channel group (docs/architecture.md, section 1, physical streams).

    Raises:
        SimulationError: a stream carried another number of tokens than the tensor has.
    """
    _, height, width, channels = tensor.shape
    fifos = tensor.fifo_names
    groups = ceil(channels / tensor.ch_par)
    codes = np.empty((frames, height, width, channels), tensor.dtype)
    for lane, name in enumerate(fifos):
        columns = codes[:, :, lane :: len(fifos)]
        padded = (frames, height, columns.shape[2], groups * tensor.ch_par)
        found = np.fromfile(folder / f"{name}.bin", tensor.dtype)
        if found.size != np.prod(padded):
            raise SimulationError(
                f"stream '{name}' carried {found.size} codes in {frames} frames, tensor "
                f"'{tensor.name}' has {np.prod(padded)} in that lane"
            )
        columns[...] = found.reshape(padded)[..., :channels]
    return codes


def _read_probes(folder: Path, frames: int) -> dict[int, np.ndarray]:
    values = {}
    for path in folder.glob("probe_*.bin"):
        found = np.fromfile(path, "<i8")
        values[int(path.stem.removeprefix("probe_"))] = found.reshape(frames, -1)
    return values
