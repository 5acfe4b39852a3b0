"""project.json: what the rooms after generation know of a C++ project (docs/architecture.md, 3).

The dataclasses are the schema: a field is a key of the file.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from finn_resnet.errors import UserError, did_you_mean

PROJECT_FILE = "project.json"
PARAMETER_FILE = "parameters.bin"
"""What the parameter port is sent, once."""

_Record = TypeVar("_Record")


@dataclass(frozen=True)
class ProjectPort:
    """An AXI stream of the top function: frames of integer codes ``shape`` = [1, H, W, C].

    ``node`` is the DMA node behind it, ``tensor`` that node's output.
    """

    name: str
    node: str
    tensor: str
    shape: tuple[int, ...]
    code_bytes: int
    signed: bool

    @property
    def codes(self) -> int:
        """Codes of a frame."""
        return math.prod(self.shape)

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame's codes, without the padding of its last beat."""
        return self.codes * self.code_bytes

    @property
    def dtype(self) -> np.dtype:
        """NumPy type of the codes in a file, little-endian."""
        return np.dtype(f"<{'i' if self.signed else 'u'}{self.code_bytes}")


@dataclass(frozen=True)
class ProjectParameters:
    """The parameter port and its file, whose words are those of ``layers`` in order."""

    name: str
    file: str
    bytes: int
    crc32: int
    layers: tuple[str, ...]


@dataclass(frozen=True)
class ProjectStream:
    """One stream declaration: ``lanes`` FIFOs (one if 0) of ``depth`` tokens of ``width_bits``.

    ``output`` is the index into ``out_depths`` of ``node``; None for a stream inside the node.
    """

    name: str
    lanes: int
    depth: int
    width_bits: int
    kind: str
    node: str
    output: int | None
    tensor: str | None = None

    @property
    def fifo_names(self) -> tuple[str, ...]:
        """Names of its FIFOs, lane by lane."""
        return _fifo_names(self.name, self.lanes)


@dataclass(frozen=True)
class ProjectTensor:
    """An activation tensor [1, H, W, C] and the stream (array) whose tokens it travels in."""

    name: str
    stream: str
    shape: tuple[int, ...]
    lanes: int
    ch_par: int
    element_bytes: int
    signed: bool

    @property
    def fifo_names(self) -> tuple[str, ...]:
        """Names of its FIFOs, lane by lane."""
        return _fifo_names(self.stream, self.lanes)

    @property
    def dtype(self) -> np.dtype:
        """NumPy type of one token element."""
        return np.dtype(f"<{'i' if self.signed else 'u'}{self.element_bytes}")


@dataclass(frozen=True)
class ProjectTask:
    """A task of the top function; ``pipeline_depth`` (a model) from its reads to its writes.

    ``pipeline_style`` is ``stp`` (stalls as a whole), ``frp`` or ``flp`` (drain).
    """

    name: str
    node: str
    kind: str
    pipeline_depth: int
    pipeline_style: str = "stp"


@dataclass(frozen=True)
class ProjectProbe:
    """An accumulator that probe builds record: values of tensor shape ``shape``.

    Order per frame: row, column group of ``lanes``, channel group of ``ch_par``, lane, channel;
    only columns and channels that exist.
    """

    id: int
    node: str
    kind: str
    shape: tuple[int, ...]
    lanes: int
    ch_par: int


@dataclass(frozen=True)
class Project:
    """A C++ project on disk: the content of project.json, and the folder it lies in.

    With ``backend`` rtl the C++ is the reference of the SystemVerilog beside it.
    """

    directory: Path
    top: str
    sources: tuple[str, ...]
    inputs: tuple[ProjectPort, ...]
    outputs: tuple[ProjectPort, ...]
    parameters: ProjectParameters | None
    streams: tuple[ProjectStream, ...]
    tensors: tuple[ProjectTensor, ...]
    tasks: tuple[ProjectTask, ...]
    probes: tuple[ProjectProbe, ...]
    backend: str = "hls"

    @property
    def ports(self) -> tuple[ProjectPort, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def parameter_file(self) -> Path | None:
        """What the parameter port is sent; None where the design has none."""
        return self.directory / self.parameters.file if self.parameters else None

    @cached_property
    def stream_of_fifo(self) -> dict[str, ProjectStream]:
        """The declaration each single FIFO belongs to, by the FIFO's name."""
        return {name: stream for stream in self.streams for name in stream.fifo_names}

    def tensor(self, name: str) -> ProjectTensor:
        """The tensor of that name.

        Raises:
            UserError: no stream carries it.
        """
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        known = did_you_mean(name, [tensor.name for tensor in self.tensors])
        raise UserError(f"no stream of '{self.top}' carries tensor '{name}'; {known}")

    def write(self, folder: Path) -> None:
        """Write project.json into ``folder``."""
        content = asdict(self)
        del content["directory"]
        text = json.dumps(content, indent=1) + "\n"
        (folder / PROJECT_FILE).write_text(text, encoding="utf-8")


def _fifo_names(stream: str, lanes: int) -> tuple[str, ...]:
    return tuple(f"{stream}_{lane}" for lane in range(lanes)) or (stream,)


def load_project(folder: str | Path) -> Project:
    """Read project.json in ``folder``.

    Raises:
        UserError: it is missing, damaged or of another version.
    """
    path = Path(folder) / PROJECT_FILE
    try:
        return _parse(json.loads(path.read_text(encoding="utf-8")), Path(folder))
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as fault:
        raise UserError(
            f"'{folder}' holds no readable {PROJECT_FILE} ({fault}); give the hls folder of a build"
        ) from fault


_LISTS = {
    "inputs": ProjectPort,
    "outputs": ProjectPort,
    "streams": ProjectStream,
    "tensors": ProjectTensor,
    "tasks": ProjectTask,
    "probes": ProjectProbe,
}


def _parse(content: dict[str, Any], folder: Path) -> Project:
    lists: dict[str, Any] = {
        key: tuple(_record(kind, item) for item in content.pop(key)) for key, kind in _LISTS.items()
    }
    parameters = content.pop("parameters")
    if parameters is not None:
        parameters = _record(ProjectParameters, parameters)
    sources = tuple(content.pop("sources"))
    return Project(directory=folder, sources=sources, parameters=parameters, **lists, **content)


def _record(kind: type[_Record], item: dict[str, Any]) -> _Record:
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in item.items()})
