"""What the generator makes of one node, before it is laid out in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.generation.cpp import code_type
from finn_resnet.generation.edges import Edge
from finn_resnet.generation.project_file import ProjectProbe

BEAT_BYTES = 16
"""Bytes of a beat of every AXI4-Stream port."""


@dataclass(frozen=True)
class StreamDeclaration:
    """One stream declaration of the top function.

    ``lanes`` 0 is a plain stream, else lane ``l`` of the array is named ``<name>_<l>``; ``output``
    is None for streams inside a node. ``storage`` is the memory of a long one as Vitis HLS calls
    it (bram, lutram), empty to leave it to the tool.
    """

    name: str
    token_type: str
    lanes: int
    depth: int
    width_bits: int
    kind: str
    node: str
    output: int | None
    tensor: str | None = None
    storage: str = ""


@dataclass(frozen=True)
class TaskCall:
    """One FR_TASK line; ``pipeline_depth`` is a modelled number of stages, read to write.

    ``pipeline_style`` is that of its loop's pragma (docs/simulation.md gives the reason).
    """

    name: str
    call: str
    kind: str
    pipeline_depth: int
    pipeline_style: str = "stp"


@dataclass(frozen=True)
class WeightMemory:
    """Memory of a parameter task: ``words`` [words, entries] of ``code_bits`` bits each.

    Constants in ``<name>.inc``, or ``loaded`` at start-up from the parameter file as codes of
    ``code_bytes`` bytes.
    """

    name: str
    words: np.ndarray
    loaded: bool = False
    code_bytes: int = 1
    code_bits: int = 8

    @property
    def packed_words(self) -> np.ndarray:
        """The words as [words, parts], uint32: codes side by side, the first one lowest."""
        bits = (self.words[:, :, None] >> np.arange(self.code_bits)) & 1
        flat = bits.reshape(len(self.words), -1).astype(np.uint8)
        padded = np.pad(flat, ((0, 0), (0, -flat.shape[1] % 32)))
        return np.packbits(padded, axis=1, bitorder="little").view("<u4")

    @property
    def word_beats(self) -> int:
        """Beats of 16 bytes a loaded word fills."""
        return -(-self.words.shape[1] * self.code_bytes // BEAT_BYTES)

    @property
    def load_stream(self) -> str:
        """Stream that brings a loaded memory its words."""
        return f"{self.name}_load"


@dataclass
class NodeCode:
    """Code of one node.

    ``structs`` and ``functions`` are C++ text for config.hpp and the top's source.
    """

    name: str
    structs: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    streams: list[StreamDeclaration] = field(default_factory=list)
    tasks: list[TaskCall] = field(default_factory=list)
    memories: list[WeightMemory] = field(default_factory=list)
    probes: list[ProjectProbe] = field(default_factory=list)


@dataclass(frozen=True)
class NodeContext:
    """A node with its streams: what its code is made from.

    ``inputs`` and ``outputs`` are the edges by position, None where there is no stream;
    ``streams`` maps a tensor to the C++ expression of its stream; ``read`` gives the integers
    behind a tensor, int64, also where they come through a parameter task; ``probe_id`` is the
    first of the node's three probe numbers; ``port`` the AXI argument of a DMA.
    """

    op: HardwareOp
    inputs: list[Edge | None]
    outputs: list[Edge | None]
    streams: dict[str, str]
    read: Callable[[str], np.ndarray]
    probe_id: int
    port: str = ""

    @property
    def name(self) -> str:
        """The node's name."""
        return self.op.onnx_node.name

    @property
    def config(self) -> str:
        """Name of the node's config struct."""
        return f"{self.name}_config"

    def edge(self, operand: str) -> Edge:
        """The edge of the input that the op names ``operand``."""
        return self.inputs[self._index(operand)]

    def constant(self, operand: str) -> np.ndarray:
        """The integers of the input that the op names ``operand``."""
        return self.read(self.op.onnx_node.input[self._index(operand)])

    def _index(self, operand: str) -> int:
        index = self.op.index_of(operand)
        if index is None:
            raise ValueError(f"node {self.name} has no input {operand!r}")
        return index

    def window_types(self) -> dict[str, str]:
        """Types of the window a computation task reads, and of its rows if they come apart."""
        edge = self.inputs[0]
        if not edge.layout.rows:
            return {"window_t": edge.token_type}
        codes = edge.layout.entries
        window = f"fr::token<{code_type(edge.codes)}, {codes}>"
        return {"window_t": window, "rows_t": f"{edge.node}_config"}

    def stream_in(self, operand: str | None = None) -> str:
        """C++ expression of the stream at the input named ``operand``, the first if None."""
        index = 0 if operand is None else self._index(operand)
        return self.streams[self.op.onnx_node.input[index]]

    def stream_out(self, index: int = 0) -> str:
        """C++ expression of output stream ``index``."""
        return self.streams[self.op.onnx_node.output[index]]
