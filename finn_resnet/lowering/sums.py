"""Additions of code tensors with any scales: on a grid of integers where there is one of few bits,
else in fixed point behind the Quant that follows, proven equal over every pair of codes.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from onnx import NodeProto

from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, FloatChain, Sum
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Requantiser

SMALL_MULTIPLIER = 256
"""Multipliers up to this are cheaper than what a search for smaller ones could save."""
_WIDEST_TOTAL = 46
"""Bits of a total: products with a requantiser's multiplier then still fit 64."""


def lower_sum(interpreter: Interpreter, node: NodeProto, signs: tuple[int, ...]) -> None:
    """``sum(sign * operand)`` of moving operands, one sign each."""
    chains = [interpreter.chain(name) for name in node.input]
    for chain in chains:
        if chain.source.layout != chains[0].source.layout:
            shapes = " and ".join(str(list(interpreter.shape(name))) for name in node.input)
            raise Unsupported(f"operands have shapes {shapes}", "add tensors of one shape")
        if any(other.op_type != "Add" for other in chain.nodes):
            raise Unsupported(
                f"an operand holds float values (after {chain.nodes[-1].op_type})",
                "put a Quant node between the float arithmetic and this node",
            )
    terms = [
        (tensor, factor * sign)
        for chain, sign in zip(chains, signs, strict=True)
        for tensor, factor in _terms(chain)
    ]
    total = _on_one_grid(interpreter, terms, node.output[0])
    offsets = [(chain, sign) for chain, sign in zip(chains, signs, strict=True) if chain.nodes]
    if any(sign < 0 for _, sign in offsets):
        raise Unsupported("an operand with a float bias is subtracted", "quantise the operand")
    exact = all(t.exponent is not None for t, _ in terms) and not offsets
    interpreter.needs_exact_float32(exact)
    small = max(abs(mult) for _, mult in total.terms) <= SMALL_MULTIPLIER
    if not offsets and (small or exact):
        interpreter.tensors[node.output[0]] = emit_total(interpreter, total, node.output[0])
        return
    result = FloatChain(total.total, sum=total)
    for chain, _ in offsets:
        for other in chain.nodes:
            result = result.extended(other, chain.constants)
    interpreter.tensors[node.output[0]] = result


def _terms(chain: FloatChain) -> list[tuple[CodeTensor, Fraction]]:
    """Code tensors and the real factor of ``code - zero`` beside their own scale."""
    if chain.sum is None:
        return [(chain.source, Fraction(1))]
    unit = chain.source.scale[0]
    return [(tensor, mult * unit / tensor.scale[0]) for tensor, mult in chain.sum.terms]


def _on_one_grid(
    interpreter: Interpreter, terms: list[tuple[CodeTensor, Fraction]], name: str
) -> Sum:
    """The coarsest grid on which every term is a whole number, and the whole factors."""
    terms = [(_aligned(interpreter, tensor), factor) for tensor, factor in terms]
    scales = [tensor.scale[0] * factor for tensor, factor in terms]
    denominator = lcm(*(s.denominator for s in scales))
    unit = Fraction(gcd(*(int(s * denominator) for s in scales)), denominator)
    mults = [int(s / unit) for s in scales]
    low, high, zero = 0, 0, [0]
    for (tensor, _), mult in zip(terms, mults, strict=True):
        found = tensor.range.times(mult)
        low, high = low + found.lo, high + found.hi
        count = max(len(zero), len(tensor.zero))
        zero = [
            zero[c % len(zero)] + mult * tensor.zero[c % len(tensor.zero)] for c in range(count)
        ]
    if Range(low, high).bits > _WIDEST_TOTAL:
        raise Unsupported(
            f"its operands' scales are too far apart: the sum takes {Range(low, high).bits} bits",
            "put a Quant node on each operand",
        )
    first = terms[0][0]
    total = first.named(f"{name}_total", scale=(unit,), range=Range(low, high), zero=tuple(zero))
    return Sum(tuple((t, m) for (t, _), m in zip(terms, mults, strict=True)), total)


def _aligned(interpreter: Interpreter, tensor: CodeTensor) -> CodeTensor:
    """The tensor with one scale for all channels: codes times whole numbers where they differ."""
    if len(tensor.scale) == 1:
        return tensor
    denominator = lcm(*(s.denominator for s in tensor.scale))
    unit = Fraction(gcd(*(int(s * denominator) for s in tensor.scale)), denominator)
    mults = tuple(int(s / unit) for s in tensor.scale)
    widest = tensor.range.times(max(mults))
    if widest.bits > 31:
        raise Unsupported(
            f"an operand has one scale per channel, {len(set(tensor.scale))} different ones",
            "put a Quant node with one scale on it",
        )
    stage = AffineStage(mults, (0,), 0, widest.lo, widest.hi)
    zeros = [tensor.zero[c % len(tensor.zero)] * mult for c, mult in enumerate(mults)]
    zero = tuple(zeros[:1]) if len(set(zeros)) == 1 else tuple(zeros)
    name = f"{tensor.name}_aligned_{len(interpreter.builder.nodes)}"
    return interpreter.emit_requant(tensor, name, Requantiser((stage,)), scale=(unit,), zero=zero)


def emit_total(interpreter: Interpreter, total: Sum, name: str) -> CodeTensor:
    """The exact sum as hardware, without requantisation."""
    mults = [mult for _, mult in total.terms]
    out = emit_sum(interpreter, total, mults, name, Requantiser(), total.total.named(name))
    interpreter.check_sum(out)
    return out


def emit_sum(
    interpreter: Interpreter,
    total: Sum,
    mults: list[int],
    name: str,
    map_: Requantiser,
    out: CodeTensor,
) -> CodeTensor:
    """``map_`` of ``sum(mult * code)`` over the terms: one StreamAdd less than there are terms."""
    tensors = [tensor for tensor, _ in total.terms]
    h, w, ch = out.shape
    left, left_mult, found = tensors[0].name, mults[0], tensors[0].range.times(mults[0])
    for index, (right, mult) in enumerate(zip(tensors[1:], mults[1:], strict=True)):
        last = index == len(tensors) - 2
        result = name if last else f"{name}_partial{index}"
        found = found.plus(right.range.times(mult))
        shift_a, shift_b = (trailing_zeros(m) for m in (left_mult, mult))
        interpreter.builder.node(
            "StreamAdd", result, [left, right.name], [result], h=h, w=w, ch=ch,
            mult_a=left_mult >> shift_a, mult_b=mult >> shift_b, shift_a=shift_a, shift_b=shift_b,
            requant=map_.to_json() if last else "",
        )  # fmt: skip
        interpreter.builder.describe(result, (1, h, w, ch), out.range if last else found)
        left, left_mult = result, 1
    return out


def trailing_zeros(value: int) -> int:
    """Power of two in a whole number."""
    return (value & -value).bit_length() - 1
