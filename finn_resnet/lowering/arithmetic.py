"""Relu, residual additions, batch norms and arithmetic with constants, and shape-only nodes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, Constant, FloatChain
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ShiftStage


def lower_relu(interpreter: Interpreter, node: NodeProto) -> None:
    """Relu: clip at zero, which every zero-point-0 code allows."""
    source = interpreter.tensors[node.input[0]]
    if isinstance(source, FloatChain):
        interpreter.tensors[node.output[0]] = source.extended(node, {})
        return
    source = interpreter.codes(node.input[0])
    lo, hi = source.range
    clip = ShiftStage(0, "ROUND", max(lo, 0), max(hi, 0))
    interpreter.tensors[node.output[0]] = interpreter.emit_requant(
        source, node.output[0], Requantiser((clip,))
    )


def lower_add(interpreter: Interpreter, node: NodeProto) -> None:
    """Add: residual addition, or addition of a constant."""
    constants = [interpreter.constant(name) for name in node.input]
    if all(constants):
        values = constants[0].values + constants[1].values
        interpreter.tensors[node.output[0]] = Constant(values)
    elif any(constants):
        _add_constant(interpreter, node, constants)
    else:
        _add_streams(interpreter, node)


def _add_streams(interpreter: Interpreter, node: NodeProto) -> None:
    a, b = (interpreter.codes(name) for name in node.input)
    if (a.shape, a.flattened) != (b.shape, b.flattened):
        raise Unsupported(
            f"operands have shapes {a.shape} and {b.shape}", "add tensors of one shape"
        )
    if a.exponent is None or b.exponent is None:
        shown = [f"{float(t.scale[0]):g}" if len(t.scale) == 1 else "per channel" for t in (a, b)]
        raise Unsupported(
            f"operand scales {shown[0]} and {shown[1]} share no power-of-two grid",
            "quantise both operands with power-of-two scales",
        )
    fine = min(a.exponent, b.exponent)
    shift_a, shift_b = a.exponent - fine, b.exponent - fine
    out = CodeTensor(
        node.output[0],
        (Fraction(2) ** fine,),
        a.range.shifted(shift_a).plus(b.range.shifted(shift_b)),
        a.shape,
        a.flattened,
    )
    h, w, ch = out.shape
    interpreter.builder.node(
        "StreamAdd", node.name, [a.name, b.name], [out.name],
        h=h, w=w, ch=ch, shift_a=shift_a, shift_b=shift_b,
    )  # fmt: skip
    interpreter.check_sum(out)
    interpreter.describe(out)
    interpreter.tensors[out.name] = out


def _add_constant(
    interpreter: Interpreter, node: NodeProto, constants: list[Constant | None]
) -> None:
    moving = node.input[0] if constants[0] is None else node.input[1]
    constant = constants[0] or constants[1]
    source = interpreter.tensors[moving]
    if isinstance(source, CodeTensor) and source.exponent is not None:
        added = per_channel(constant.values, source)
        out = add_on_grid(interpreter, source, added, node.output[0])
        if out is not None:
            interpreter.tensors[node.output[0]] = out
            return
    extend_chain(interpreter, node)


def per_channel(values: np.ndarray, source: CodeTensor) -> np.ndarray:
    """One constant per channel (float64 [C]).

    Raises:
        Unsupported: the constant varies over pixels.
    """
    channels = source.shape[2]
    flat = np.ravel(np.asarray(values, np.float64))
    spatial = source.flattened and source.shape[:2] != (1, 1)
    if flat.size == 1:
        return np.repeat(flat, channels)
    if flat.size != channels or spatial:
        raise Unsupported(
            f"constant of shape {list(np.shape(values))} is neither one value nor one per channel",
            "use a constant per channel",
        )
    return flat


def add_on_grid(
    interpreter: Interpreter, source: CodeTensor, added: np.ndarray, name: str
) -> CodeTensor | None:
    """Exact addition of constants that lie on a power-of-two grid, None where they do not.

    The grid is refined (codes shifted left) when the constants are finer than the codes.
    """
    finest = _grid_exponent(added)
    if finest is None:
        return None
    refine = max(source.exponent - finest, 0)
    exponent = source.exponent - refine
    codes = tuple(int(Fraction(float(v)) / Fraction(2) ** exponent) for v in added)
    ends = source.range.shifted(refine)
    lo, hi = ends.lo + min(codes), ends.hi + max(codes)
    if max(-lo, hi).bit_length() > 40:
        return None
    if len(set(codes)) == 1:
        codes = codes[:1]
    stage = AffineStage((1 << refine,), codes, 0, lo, hi)
    out = interpreter.emit_requant(
        source, name, Requantiser((stage,)), scale=(Fraction(2) ** exponent,)
    )
    interpreter.check_sum(out)
    return out


def _grid_exponent(values: np.ndarray) -> int | None:
    """Largest ``e`` with every value a multiple of ``2**e``; None for a grid below 2^-40."""
    exponents = []
    for value in np.ravel(values):
        numerator = Fraction(float(value))
        if numerator:
            unit = Fraction(numerator.numerator & -numerator.numerator, numerator.denominator)
            exponents.append(power_of_two_exponent(unit))
    finest = min(exponents, default=0)
    return finest if finest >= -40 else None


def extend_chain(interpreter: Interpreter, node: NodeProto) -> None:
    """Float arithmetic with constants: joins the chain that the next Quant ends."""
    moving = [name for name in node.input if name and interpreter.constant(name) is None]
    if len(moving) != 1:
        raise Unsupported("both operands are computed at run time", "use a constant operand")
    if node.op_type in ("Sub", "Div") and node.input[0] != moving[0]:
        raise Unsupported("the constant is the first operand", "use it as the second")
    source = interpreter.tensors[moving[0]]
    if not isinstance(source, FloatChain):
        source = FloatChain(interpreter.codes(moving[0]), (), {})
    constants = {}
    for name in node.input:
        constant = interpreter.constant(name)
        if constant is not None:
            per_channel(constant.values, source.source)
            constants[name] = np.asarray(constant.values, np.float32)
    interpreter.tensors[node.output[0]] = source.extended(node, constants)


def lower_reshape(interpreter: Interpreter, node: NodeProto) -> None:
    """Flatten, Reshape or Squeeze to [N, features]: only the bookkeeping changes."""
    shape = interpreter.model.get_tensor_shape(node.output[0])
    source = interpreter.tensors[node.input[0]]
    inner = source.source if isinstance(source, FloatChain) else interpreter.codes(node.input[0])
    h, w, c = inner.shape
    unchanged = not inner.flattened and list(shape) == [1, c, h, w]
    if unchanged:
        interpreter.tensors[node.output[0]] = source
        return
    if list(shape) not in ([1, h * w * c], [h * w * c]):
        raise Unsupported(
            f"changes [1, {c}, {h}, {w}] to {list(shape)}", "reshape only to [N, features]"
        )
    if isinstance(source, FloatChain):
        raise Unsupported("reshapes float values", "put a Quant node before it")
    interpreter.tensors[node.output[0]] = inner.named(inner.name, flattened=True)
