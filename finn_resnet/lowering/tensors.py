"""How the lowering sees a tensor of the QONNX graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.numerics.ranges import Range


@dataclass(frozen=True)
class CodeTensor:
    """Integer codes on the hardware graph: ``value = code * scale[channel]``.

    ``shape`` is (H, W, C) whatever the original's layout; ``flattened`` says that the original
    is [1, C*H*W] in channel-major order.
    """

    name: str
    scale: tuple[Fraction, ...]
    range: Range
    shape: tuple[int, int, int]
    flattened: bool = False

    @property
    def exponent(self) -> int | None:
        """``e`` where the scale is ``2**e`` for all channels, None otherwise."""
        return power_of_two_exponent(self.scale[0]) if len(self.scale) == 1 else None

    def named(self, name: str, **changes: object) -> CodeTensor:
        """Copy with another name (and other fields)."""
        return replace(self, name=name, **changes)


@dataclass(frozen=True)
class FloatChain:
    """Element-wise float arithmetic on a code tensor, waiting for the Quant that ends it.

    ``constants`` holds the initialisers of ``nodes`` by name.
    """

    source: CodeTensor
    nodes: tuple[NodeProto, ...]
    constants: dict[str, np.ndarray]

    def extended(self, node: NodeProto, constants: dict[str, np.ndarray]) -> FloatChain:
        """The chain with one more node."""
        return FloatChain(self.source, (*self.nodes, node), {**self.constants, **constants})


@dataclass(frozen=True)
class Constant:
    """A parameter tensor: its float values and, behind a Quant, its codes and scale.

    ``scale`` is float64, shape () or broadcastable to the values.
    """

    values: np.ndarray
    codes: np.ndarray | None = None
    scale: np.ndarray | None = None
    bits: int = 0


@dataclass(frozen=True)
class GraphInput:
    """The float picture before its first Quant; ``shape`` is NCHW."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Unknown:
    """Result of a node already reported: consumers say nothing more."""


Tensor = CodeTensor | FloatChain | Constant | GraphInput | Unknown
