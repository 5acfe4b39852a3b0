"""Relu, additions, and float arithmetic with constants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.host_ends import extend_host, is_host
from finn_resnet.lowering.interpreter import Interpreter, Unsupported, channel_values
from finn_resnet.lowering.sums import lower_sum
from finn_resnet.lowering.tensors import CodeTensor, Constant
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ShiftStage


def lower_relu(interpreter: Interpreter, node: NodeProto) -> None:
    """Relu: clip at the code of zero; part of a float chain where there is one."""
    source = interpreter.tensors[node.input[0]]
    if not isinstance(source, CodeTensor) or len(source.zero) > 1:
        extend_chain(interpreter, node)
        return
    (zero,), (lo, hi) = source.zero, source.range
    clip = ShiftStage(0, "ROUND", max(lo, zero), max(hi, zero))
    interpreter.tensors[node.output[0]] = interpreter.emit_requant(
        source, node.output[0], Requantiser((clip,))
    )


def lower_add(interpreter: Interpreter, node: NodeProto) -> None:
    """Add and Sum: residual addition, or addition of a constant."""
    constants = [interpreter.constant(name) for name in node.input]
    if all(constants):
        values = sum(np.asarray(c.values, np.float64) for c in constants)
        interpreter.tensors[node.output[0]] = Constant(values)
    elif not any(constants):
        lower_sum(interpreter, node, (1,) * len(node.input))
    elif len(constants) == 2:
        _add_constant(interpreter, node, constants)
    else:
        raise Unsupported(
            f"it sums {len(constants)} operands, some of them constants", "add constants one by one"
        )


def lower_sub(interpreter: Interpreter, node: NodeProto) -> None:
    """Sub: of a constant, or of two moving operands."""
    if any(interpreter.constant(name) for name in node.input):
        extend_chain(interpreter, node)
    else:
        lower_sum(interpreter, node, (1, -1))


def lower_factor(interpreter: Interpreter, node: NodeProto) -> None:
    """Mul and Div: by a constant; of a quantised parameter they change its scale alone."""
    first, second = (interpreter.constant(name) for name in node.input)
    if first is None or second is None:
        extend_chain(interpreter, node)
        return
    left, right = (np.asarray(c.values, np.float64) for c in (first, second))
    divides = node.op_type == "Div"
    values = left / right if divides else left * right
    weights, factor = (first, right) if first.codes is not None or divides else (second, left)
    if weights.codes is None or values.shape != weights.codes.shape:
        interpreter.tensors[node.output[0]] = Constant(values)
        return
    scale = weights.scale / factor if divides else weights.scale * factor
    interpreter.tensors[node.output[0]] = Constant(values, weights.codes, scale)


def _add_constant(
    interpreter: Interpreter, node: NodeProto, constants: list[Constant | None]
) -> None:
    moving = node.input[0] if constants[0] is None else node.input[1]
    constant = constants[0] or constants[1]
    source = interpreter.tensors[moving]
    if isinstance(source, CodeTensor) and source.exponent is not None:
        added = channel_values(constant.values, source)
        out = add_on_grid(interpreter, source, added, node.output[0])
        if out is not None:
            interpreter.tensors[node.output[0]] = out
            return
    extend_chain(interpreter, node)


def add_on_grid(
    interpreter: Interpreter, source: CodeTensor, added: np.ndarray, name: str
) -> CodeTensor | None:
    """Exact addition of constants that lie on a power-of-two grid, None where they do not.

    The grid is refined (codes shifted left) when the constants are finer than the codes; a sum of
    more than 32 bits is left to a float chain.
    """
    finest = _grid_exponent(added)
    if finest is None:
        return None
    refine = max(source.exponent - finest, 0)
    exponent = source.exponent - refine
    codes = tuple(int(Fraction(float(v)) / Fraction(2) ** exponent) for v in added)
    ends = source.range.shifted(refine)
    lo, hi = ends.lo + min(codes), ends.hi + max(codes)
    if max(-lo, hi).bit_length() > 31:
        return None
    if len(set(codes)) == 1:
        codes = codes[:1]
    stage = AffineStage((1 << refine,), codes, 0, lo, hi)
    out = interpreter.emit_requant(
        source, name, Requantiser((stage,)), scale=(Fraction(2) ** exponent,),
        zero=tuple(z << refine for z in source.zero),
    )  # fmt: skip
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


def _check_rising(interpreter: Interpreter, node: NodeProto) -> None:
    """Refuse a slope below 0: a Quant behind it would be no step function of the codes."""
    slopes = attributes(node).get("alpha", 1.0)
    if node.op_type == "PRelu":
        constant = interpreter.constant(node.input[1])
        slopes = 1.0 if constant is None else constant.values
    if node.op_type in ("PRelu", "LeakyRelu", "Elu", "Selu") and np.any(np.asarray(slopes) < 0):
        raise Unsupported(
            f"slope = {float(np.min(slopes)):g}: it falls and rises",
            "train with slopes of 0 or more",
        )


def extend_chain(interpreter: Interpreter, node: NodeProto) -> None:
    """Float arithmetic with constants: joins the chain that the next Quant ends, or the host's."""
    moving = [name for name in node.input if name and interpreter.constant(name) is None]
    if len(moving) != 1:
        raise Unsupported("both operands are computed at run time", "use a constant operand")
    if is_host(interpreter.tensors[moving[0]]):
        extend_host(interpreter, node)
        return
    if node.op_type == "Div" and node.input[0] != moving[0]:
        raise Unsupported("the constant is the first operand", "use it as the second")
    chain = interpreter.chain(moving[0])
    _check_rising(interpreter, node)
    if interpreter.shape(node.output[0]) != interpreter.shape(moving[0]):
        raise Unsupported(
            f"a constant broadcasts {list(interpreter.shape(moving[0]))} to "
            f"{list(interpreter.shape(node.output[0]))}",
            "use a constant of the tensor's own shape",
        )  # fmt: skip
    if node.op_type == "BatchNormalization" and chain.source.channels_last:
        raise Unsupported("it normalises along the height", "put the channels on axis 1")
    constants = {}
    for name in node.input:
        constant = interpreter.constant(name) if name else None
        if constant is None:
            continue
        values = constant.exact()
        if node.op_type != "BatchNormalization":
            values = channel_values(values, chain.source)
        if node.op_type in ("Mul", "Div") and np.any(values == 0):
            raise Unsupported("a factor is 0", "remove the channel")
        constants[name] = values
    interpreter.tensors[node.output[0]] = chain.extended(node, constants)
