"""Parameters of a QONNX Quant node, read from the node itself, never from an annotation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.general.intquant import int_quant, max_int, min_int
from qonnx.util.basic import get_by_name

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.rounding import ROUNDING_MODES

QUANT_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
QUANT_OPS = ("Quant", "IntQuant")


class UnsupportedQuantiser(Exception):
    """The Quant node cannot be integer hardware; ``args`` are (reason, remedy)."""


@dataclass(frozen=True)
class Quantiser:
    """One Quant node: ``code = round(clip(x / scale, lo, hi))``, ``y = code * scale``.

    ``scale`` is float64, shape () or the broadcastable per-channel shape of the node.
    """

    scale: np.ndarray
    bits: int
    signed: bool
    narrow: bool
    rounding: str

    @property
    def range(self) -> Range:
        """Range of the codes."""
        lo = int(min_int(self.signed, self.narrow, self.bits))
        return Range(lo, int(max_int(self.signed, self.narrow, self.bits)))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Integer codes (int64) of float values, with qonnx's own float32 arithmetic."""
        one = np.float32(1)
        scale = self.scale.astype(np.float32)
        # Dividing by the scale first leaves codes with scale 1, exact in float32.
        scaled = np.asarray(values, np.float32) / scale
        bits = np.float32(self.bits)
        zero = np.float32(0)
        out = int_quant(scaled, one, zero, bits, self.signed, self.narrow, self.rounding)
        return out.astype(np.int64)


def is_quant(node: NodeProto) -> bool:
    """Whether the node is a QONNX Quant in any of the domains exporters use."""
    return node.op_type in QUANT_OPS and (not node.domain or node.domain in QUANT_DOMAINS)


def power_of_two_exponent(value: Fraction | float) -> int | None:
    """``e`` with ``value == 2**e``, or None."""
    value = Fraction(value)
    if value <= 0:
        return None
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value == Fraction(2) ** exponent else None


def read_quantiser(model: ModelWrapper, node: NodeProto) -> Quantiser:
    """Parameters of a Quant node.

    Raises:
        UnsupportedQuantiser: parameters that are no constants, a zero-point, a width or rounding
            mode integer hardware cannot have.
    """
    scale, zero_point, bits = (model.get_initializer(name) for name in node.input[1:4])
    if scale is None or zero_point is None or bits is None:
        raise UnsupportedQuantiser(
            "scale, zero-point or bit width is computed at run time", "export constant parameters"
        )
    if np.any(zero_point != 0):
        shown = float(np.ravel(zero_point)[np.flatnonzero(zero_point)[0]])
        raise UnsupportedQuantiser(
            f"zero-point = {shown:g}", "quantise symmetrically, with zero-point 0"
        )
    width = float(np.ravel(bits)[0])
    if bits.size != 1 or width != int(width) or not 2 <= width <= 32:
        raise UnsupportedQuantiser(f"bit width = {width:g}", "use a whole width from 2 to 32")
    if not np.all(np.isfinite(scale)) or np.any(scale <= 0):
        raise UnsupportedQuantiser("scale is not a positive number", "export positive scales")
    rounding = _attribute(node, "rounding_mode", "ROUND").upper()
    if rounding not in ROUNDING_MODES:
        raise UnsupportedQuantiser(
            f"rounding_mode = {rounding}", f"use one of {', '.join(ROUNDING_MODES)}"
        )
    squeezed = scale.astype(np.float64)
    return Quantiser(
        scale=squeezed.reshape(()) if squeezed.size == 1 else squeezed,
        bits=int(width),
        signed=bool(_attribute(node, "signed", 1)),
        narrow=bool(_attribute(node, "narrow", 0)),
        rounding=rounding,
    )


def _attribute(node: NodeProto, name: str, default: int | str) -> int | str:
    attribute = get_by_name(node.attribute, name)
    if attribute is None:
        return default
    return attribute.s.decode() if isinstance(default, str) else attribute.i
