"""project.json of a generated C++ project, read (docs/architecture.md, section 3)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from finn_resnet.errors import UserError, did_you_mean

PROJECT_FILE = "project.json"


@dataclass(frozen=True)
class ProjectPort:
    """An input or output of the top function: frames of integer codes ``shape`` = [1, H, W, C]."""

    name: str
    shape: tuple[int, ...]
    code_bytes: int
    signed: bool

    @property
    def dtype(self) -> np.dtype:
        """NumPy type of the codes in a file, little-endian."""
        return np.dtype(f"<{'i' if self.signed else 'u'}{self.code_bytes}")


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
    """A task of the top function; ``pipeline_depth`` (a model) from its reads to its writes."""

    name: str
    node: str
    kind: str
    pipeline_depth: int


@dataclass(frozen=True)
class Project:
    """The content of project.json."""

    top: str
    sources: tuple[str, ...]
    inputs: tuple[ProjectPort, ...]
    outputs: tuple[ProjectPort, ...]
    streams: tuple[ProjectStream, ...]
    tensors: tuple[ProjectTensor, ...]
    tasks: tuple[ProjectTask, ...]
    probes: tuple[dict[str, Any], ...]
    parameter_file: Path | None = None
    """What the parameter port is sent; None where the design has none."""

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


def _fifo_names(stream: str, lanes: int) -> tuple[str, ...]:
    return tuple(f"{stream}_{lane}" for lane in range(lanes)) or (stream,)


def load_project(folder: str | Path) -> Project:
    """Read project.json in ``folder``.

    Raises:
        UserError: it is missing or damaged.
    """
    path = Path(folder) / PROJECT_FILE
    try:
        return _parse(json.loads(path.read_text(encoding="utf-8")), Path(folder))
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as fault:
        raise UserError(
            f"'{folder}' holds no readable {PROJECT_FILE} ({fault}); give the hls folder of a build"
        ) from fault


def _parse(content: dict[str, Any], folder: Path) -> Project:
    parameters = content.get("parameters")
    return Project(
        top=content["top"],
        sources=tuple(content["sources"]),
        inputs=tuple(_port(item) for item in content["inputs"]),
        outputs=tuple(_port(item) for item in content["outputs"]),
        streams=tuple(_stream(item) for item in content["streams"]),
        tensors=tuple(_tensor(item) for item in content["tensors"]),
        tasks=tuple(
            ProjectTask(item["name"], item["node"], item["kind"], item["pipeline_depth"])
            for item in content["tasks"]
        ),
        probes=tuple(content.get("probes", ())),
        parameter_file=folder / parameters["file"] if parameters else None,
    )


def _port(item: dict[str, Any]) -> ProjectPort:
    return ProjectPort(item["name"], tuple(item["shape"]), item["code_bytes"], item["signed"])


def _tensor(item: dict[str, Any]) -> ProjectTensor:
    return ProjectTensor(
        item["name"],
        item["stream"],
        tuple(item["shape"]),
        item.get("lanes", 0),
        item["ch_par"],
        item["element_bytes"],
        item["signed"],
    )


def _stream(item: dict[str, Any]) -> ProjectStream:
    return ProjectStream(
        item["name"],
        item.get("lanes", 0),
        item["depth"],
        item["width_bits"],
        item["kind"],
        item["node"],
        item["output"],
    )
