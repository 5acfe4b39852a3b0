"""How the lowering sees a tensor of the QONNX graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.numerics.ranges import Range


@dataclass(frozen=True)
class CodeTensor:
    """Integer codes on the hardware graph: ``value = (code - zero[c]) * scale[c]``.

    ``scale`` and ``zero`` have one entry, or one for each channel. ``shape`` is (H, W, C) whatever
    the original's layout: ``channels_last`` says that its last axis is the channels (else the
    channels come before height and width), ``flattened`` that height, width and channels are one
    axis, in that order.
    """

    name: str
    scale: tuple[Fraction, ...]
    range: Range
    shape: tuple[int, int, int]
    flattened: bool = False
    channels_last: bool = False
    zero: tuple[int, ...] = (0,)

    @property
    def exponent(self) -> int | None:
        """``e`` where the scale is ``2**e`` for all channels, None otherwise."""
        return power_of_two_exponent(self.scale[0]) if len(self.scale) == 1 else None

    @property
    def channel_axis(self) -> int | None:
        """Axis of the channels in the original, counted from its end; None where it has none."""
        if not self.flattened:
            return -1 if self.channels_last else -3
        return -1 if self.shape[:2] == (1, 1) else None

    @property
    def layout(self) -> tuple[tuple[int, int, int], bool, bool]:
        """What two tensors must share to be added value by value."""
        one_pixel = self.shape[:2] == (1, 1)
        return self.shape, self.flattened, self.channels_last and not (self.flattened and one_pixel)

    def named(self, name: str, **changes: object) -> CodeTensor:
        """Copy with another name (and other fields)."""
        return replace(self, name=name, **changes)


@dataclass(frozen=True)
class Sum:
    """An addition that waits for the Quant behind it, to be rounded into few bits.

    ``value = scale * (sum(mult * code) - zero)`` over the ``terms`` (code tensor, whole
    multiplier), exactly; `total` is that inner sum seen as a code tensor nobody computes yet.
    """

    terms: tuple[tuple[CodeTensor, int], ...]
    total: CodeTensor


@dataclass(frozen=True)
class FloatChain:
    """Element-wise float arithmetic on a code tensor, waiting for the Quant that ends it.

    ``constants`` holds the parameters of ``nodes`` by name, with one entry or one for each channel
    of ``source``. A chain behind a `Sum` has its total as source.
    """

    source: CodeTensor
    nodes: tuple[NodeProto, ...] = ()
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    sum: Sum | None = None

    def extended(self, node: NodeProto, constants: dict[str, np.ndarray]) -> FloatChain:
        """The chain with one more node."""
        return replace(self, nodes=(*self.nodes, node), constants={**self.constants, **constants})


@dataclass(frozen=True)
class Constant:
    """A parameter tensor: its float values and, behind a Quant, its codes and scale.

    ``values = codes * scale``: a zero-point is taken off the codes. ``scale`` is float64, shape ()
    or broadcastable to the values.
    """

    values: np.ndarray
    codes: np.ndarray | None = None
    scale: np.ndarray | None = None

    def exact(self) -> np.ndarray:
        """The values as exact numbers: fractions behind a Quant, else the file's own floats."""
        if self.codes is None:
            return np.asarray(self.values)
        codes = np.asarray(self.codes)
        scale = np.broadcast_to(self.scale, codes.shape)
        pairs = zip(codes.ravel().tolist(), scale.ravel().tolist(), strict=True)
        flat = [Fraction(code) * Fraction(unit) for code, unit in pairs]
        out = np.empty(codes.shape, object)
        out.ravel()[:] = flat
        return out


@dataclass(frozen=True)
class HostTensor:
    """Values the processor computes: ``steps`` (`custom_ops.host_steps`) behind ``source``.

    At the input of the network ``source`` is the graph input's name, at its end a code tensor.
    ``shape`` and ``dtype`` are the result's.
    """

    source: str | CodeTensor
    shape: tuple[int, ...]
    steps: tuple[dict, ...] = ()
    dtype: str = "float32"

    def followed(self, step: dict | None, shape: tuple[int, ...], dtype: str = "") -> HostTensor:
        """The tensor after one more step."""
        steps = self.steps if step is None else (*self.steps, step)
        return replace(self, steps=steps, shape=shape, dtype=dtype or self.dtype)


@dataclass(frozen=True)
class Unknown:
    """Result of a node already reported: consumers say nothing more."""


Tensor = CodeTensor | FloatChain | Constant | HostTensor | Unknown
