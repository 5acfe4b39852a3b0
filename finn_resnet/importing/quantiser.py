"""Parameters of a quantiser node, read from the node itself, never from an annotation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.general.intquant import max_int, min_int, resolve_rounding_mode
from qonnx.util.basic import get_by_name

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.rounding import ROUNDING_MODES

QUANT_DOMAINS = (
    "qonnx.custom_op.general",
    "onnx.brevitas",
    "qonnx",
    "finn.custom_op.general",
    "finn_resnet.custom_ops",
)
QUANT_OPS = ("Quant", "IntQuant", "BipolarQuant", "LinearQuant")
"""`LinearQuant` is ours: a QuantizeLinear and DequantizeLinear pair with an odd zero-point."""


class UnsupportedQuantiser(Exception):
    """The node cannot be integer hardware; ``args`` are (reason, remedy)."""


@dataclass(frozen=True)
class Quantiser:
    """``code = round(clip(x / scale + zero, lo, hi))``, ``y = (code - zero) * scale``.

    ``scale`` is float64, ``zero``, ``lo`` and ``hi`` are int64; each has shape () or the node's
    broadcastable shape. A ``bipolar`` quantiser has the codes -1 and 1 by the sign of
    ``x / scale + zero`` (0 counts as positive). With ``rounds_first`` the zero-point is added to
    the rounded quotient, as ONNX's QuantizeLinear does: ties then go to the other side where it is
    odd.
    """

    scale: np.ndarray
    zero: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    rounding: str = "ROUND"
    bipolar: bool = False
    rounds_first: bool = False

    @property
    def range(self) -> Range:
        """Range of the codes."""
        return Range(int(self.lo.min()), int(self.hi.max()))

    @property
    def bits(self) -> int:
        """Width of the codes, as an integer type of the file's signedness."""
        return self.range.bits

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Integer codes (int64) of float values, with qonnx's own float32 arithmetic."""
        scaled = np.asarray(values, np.float32) / self.scale.astype(np.float32)
        zero = self.zero.astype(np.float32)
        if not self.rounds_first:
            scaled = scaled + zero
        if self.bipolar:
            return np.where(scaled >= 0, 1, -1).astype(np.int64)
        rounded = resolve_rounding_mode(self.rounding)
        if self.rounds_first:
            scaled = rounded(scaled) + zero
        clipped = np.clip(scaled, self.lo.astype(np.float32), self.hi.astype(np.float32))
        return np.asarray(rounded(clipped)).astype(np.int64)


def is_quant(node: NodeProto) -> bool:
    """Whether the node is a quantiser in any of the domains exporters use."""
    return node.op_type in QUANT_OPS and (not node.domain or node.domain in QUANT_DOMAINS)


def power_of_two_exponent(value: Fraction | float) -> int | None:
    """``e`` with ``value == 2**e``, or None."""
    value = Fraction(value)
    if value <= 0:
        return None
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value == Fraction(2) ** exponent else None


def read_quantiser(model: ModelWrapper, node: NodeProto) -> Quantiser:
    """Parameters of a quantiser node.

    Raises:
        UnsupportedQuantiser: parameters that are no constants, a fractional zero-point, a width or
            rounding mode integer hardware cannot have.
    """
    found = [model.get_initializer(name) for name in node.input[1:4]]
    if any(value is None for value in found):
        raise UnsupportedQuantiser(
            "scale, zero-point or bit width is computed at run time", "export constant parameters"
        )
    scale = _squeezed(found[0].astype(np.float64))
    if not np.all(np.isfinite(scale)) or np.any(scale <= 0):
        raise UnsupportedQuantiser("scale is not a positive number", "export positive scales")
    if node.op_type == "BipolarQuant":
        return _bipolar(scale, np.zeros((), np.int64))
    zero = _whole(found[1], "zero-point", "use whole zero-points")
    bits = _whole(found[2], "bit width", "use a whole width from 1 to 32")
    if np.any(bits < 1) or np.any(bits > 32):
        raise UnsupportedQuantiser(
            f"bit width = {int(bits.ravel()[0])}", "use a whole width from 1 to 32"
        )
    rounding = str(_attribute(node, "rounding_mode", "ROUND")).upper()
    if rounding not in ROUNDING_MODES:
        raise UnsupportedQuantiser(
            f"rounding_mode = {rounding}", f"use one of {', '.join(ROUNDING_MODES)}"
        )
    signed, narrow = (bool(_attribute(node, name, d)) for name, d in (("signed", 1), ("narrow", 1)))
    if signed and np.all(bits == 1):
        return _bipolar(scale, zero)
    lo = np.array(min_int(signed, narrow, bits), np.int64)
    hi = np.array(max_int(signed, narrow, bits), np.int64)
    return Quantiser(scale, zero, lo, hi, rounding, rounds_first=node.op_type == "LinearQuant")


def _bipolar(scale: np.ndarray, zero: np.ndarray) -> Quantiser:
    """qonnx takes a signed 1-bit quantiser for a bipolar one."""
    if np.any(zero):
        raise UnsupportedQuantiser("a 1-bit quantiser has a zero-point", "use zero-point 0")
    return Quantiser(scale, zero, np.array(-1), np.array(1), bipolar=True)


def _whole(values: np.ndarray, what: str, remedy: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if not np.all(values == np.rint(values)):
        shown = float(values[values != np.rint(values)].ravel()[0])
        raise UnsupportedQuantiser(f"{what} = {shown:g}", remedy)
    return _squeezed(values.astype(np.int64))


def _squeezed(values: np.ndarray) -> np.ndarray:
    """A single value, or several equal ones, as shape ()."""
    return values.ravel()[0].reshape(()) if len(np.unique(values)) == 1 else values


def _attribute(node: NodeProto, name: str, default: int | str) -> int | str:
    attribute = get_by_name(node.attribute, name)
    if attribute is None:
        return default
    return attribute.s.decode() if isinstance(default, str) else attribute.i
