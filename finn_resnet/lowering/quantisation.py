"""Quantisers: on the graph input, on parameters, on integer tensors and at the end of a chain."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from onnx import NodeProto, helper
from qonnx.custom_op.general.intquant import max_int, min_int

from finn_resnet.importing.quantiser import Quantiser, power_of_two_exponent, read_quantiser
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.float_chain import chain_steps, steps_of
from finn_resnet.lowering.host_ends import host_finding, quantise_input
from finn_resnet.lowering.interpreter import (
    Interpreter,
    Unsupported,
    channel_values,
    fractions_of,
)
from finn_resnet.lowering.sums import emit_sum
from finn_resnet.lowering.tensors import CodeTensor, Constant, FloatChain, HostTensor
from finn_resnet.numerics.affine_fit import StepFunction, as_thresholds, fit_affine
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ShiftStage
from finn_resnet.numerics.rounding import round_shift
from finn_resnet.numerics.sum_fit import fit_sum

MAX_CODE_BITS = 16
"""Widest activation quantiser: every code above would be a threshold of the proof."""
_LARGEST_RATIO = 1 << 16


def lower_quant(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Quant, IntQuant, BipolarQuant and LinearQuant."""
    constant = _quantised_constant(interpreter, node)
    if constant is not None:
        interpreter.tensors[node.output[0]] = constant
        return
    quantiser = read_quantiser(interpreter.model, node)
    if quantiser.bits > MAX_CODE_BITS:
        raise Unsupported(
            f"activation bit width = {quantiser.bits}", f"use at most {MAX_CODE_BITS} bits"
        )
    source = interpreter.tensors[node.input[0]]
    if isinstance(source, HostTensor):
        if not isinstance(source.source, str):
            raise host_finding(source)
        result = quantise_input(interpreter, node, source, _same_width(quantiser))
    else:
        result = _requantise(interpreter, node, quantiser)
    interpreter.tensors[node.output[0]] = result


def _quantised_constant(interpreter: Interpreter, node: NodeProto) -> Constant | None:
    """Codes and values of a Quant on a parameter tensor; None when its input moves."""
    source = interpreter.constant(node.input[0])
    if source is None:
        return None
    quantiser = read_quantiser(interpreter.model, node)
    codes = quantiser.codes(source.values) - quantiser.zero
    return Constant(codes * quantiser.scale, codes, quantiser.scale)


def lower_trunc(interpreter: Interpreter, node: NodeProto) -> None:
    """Trunc: round to the scale's codes, drop the low bits, keep the scale or take the new one."""
    found = [interpreter.constant(name) for name in node.input[1:]]
    if any(c is None or c.values.size != 1 for c in found):
        raise Unsupported("its parameters differ between channels", "use one scale and width")
    scale, zero, *widths = (float(np.ravel(c.values)[0]) for c in found)
    if zero:
        raise Unsupported(f"zero-point = {zero:g}", "truncate with zero-point 0")
    attrs = attributes(node)
    if len(widths) == 3:  # version 2: input width, output scale, output width
        out_scale, shift = widths[1], round(np.log2(widths[1] / scale))
        signed, narrow = bool(attrs.get("signed", 1)), bool(attrs.get("narrow", 0))
        bits = int(widths[2])
        bounds = int(min_int(signed, narrow, bits)), int(max_int(signed, narrow, bits))
    else:
        out_scale, shift, bounds = scale, int(widths[0] - widths[1]), (-(1 << 31), 1 << 31)
    rounding = attrs.get("rounding_mode", b"FLOOR").decode().upper()
    whole = Quantiser(*map(np.array, (scale, 0, -(1 << 31), (1 << 31) - 1)))
    interpreter.needs_exact_float32(False)
    name = interpreter.builder.unique_tensor(f"{node.output[0]}_whole")
    codes = _requantise(interpreter, _quant_node(node, name), whole)
    ends = [int(round_shift(np.array(v), shift, rounding)) for v in codes.range]
    stage = ShiftStage(shift, rounding, max(bounds[0], ends[0]), min(bounds[1], ends[1]))
    interpreter.tensors[node.output[0]] = interpreter.emit_requant(
        codes, node.output[0], Requantiser((stage,)), scale=(Fraction(float(out_scale)),)
    )


def _quant_node(node: NodeProto, name: str) -> NodeProto:
    return helper.make_node("Quant", node.input[:1], [name], node.name)


def _same_width(quantiser: Quantiser) -> Quantiser:
    if quantiser.lo.size > 1 or quantiser.hi.size > 1:
        raise Unsupported("the bit width differs between channels", "use one width per tensor")
    return quantiser


def _per_channel(quantiser: Quantiser, source: CodeTensor) -> Quantiser:
    """The quantiser with parameters of one entry, or one for each channel of ``source``."""
    values = {
        name: channel_values(getattr(quantiser, name), source)
        for name in ("scale", "zero", "lo", "hi")
    }
    return Quantiser(
        **values,
        rounding=quantiser.rounding,
        bipolar=quantiser.bipolar,
        rounds_first=quantiser.rounds_first,
    )


def _requantise(interpreter: Interpreter, node: NodeProto, quantiser: Quantiser) -> CodeTensor:
    chain = interpreter.chain(node.input[0])
    quantiser = _per_channel(_same_width(quantiser), chain.source)
    changes = {
        "scale": fractions_of(quantiser.scale),
        "zero": tuple(int(z) for z in quantiser.zero),
    }
    shift = _plain_shift(chain, quantiser)
    if shift is not None:
        return interpreter.emit_requant(
            chain.source, node.output[0], Requantiser((shift,)), **changes
        )
    constants = {name: interpreter.model.get_initializer(name) for name in node.input[1:4] if name}
    constants = {
        name: channel_values(np.asarray(value, np.float32), chain.source)
        for name, value in constants.items()
    }
    chain = chain.extended(node, constants)
    steps = chain_steps(chain, quantiser, interpreter.reference, interpreter.opset)
    if chain.sum is not None:
        return _fixed_point_sum(interpreter, node, chain, quantiser, steps, changes)
    map_ = realised(steps, chain, quantiser)
    interpreter.chains[node.name] = (chain, map_)
    return interpreter.emit_requant(chain.source, node.output[0], map_, **changes)


def _plain_shift(chain: FloatChain, quantiser: Quantiser) -> ShiftStage | None:
    """A Quant right behind codes, both with zero-point 0 and a power of two as scale."""
    source = chain.source
    if chain.nodes or chain.sum is not None or quantiser.bipolar:
        return None
    if any(source.zero) or np.any(quantiser.zero) or quantiser.scale.size > 1:
        return None
    exponent = power_of_two_exponent(float(quantiser.scale.item()))
    if source.exponent is None or exponent is None:
        return None
    bounds = quantiser.range
    return ShiftStage(exponent - source.exponent, quantiser.rounding, bounds.lo, bounds.hi)


def realised(steps: StepFunction, chain: FloatChain, quantiser: Quantiser) -> Requantiser:
    """The cheapest exact stages: one line, a line with the quantiser's own rounding, thresholds."""
    stage = fit_affine(steps)
    if stage is not None:
        return Requantiser((stage,))
    return _rounded_line(steps, chain, quantiser) or Requantiser((as_thresholds(steps),))


def _rounded_line(
    steps: StepFunction, chain: FloatChain, quantiser: Quantiser
) -> Requantiser | None:
    """``round((x * p + q) / 2^k)``, for ratios of scales where ties happen.

    A line alone cannot take them to the even side. Proven against ``steps``, since what the chain
    holds besides the ratio (a Relu) may or may not be a mere clip.
    """
    source, bounds = chain.source, steps.outputs
    if quantiser.bipolar:
        return None
    steps_of_quant = [Fraction(float(s)) for s in quantiser.scale]
    count = max(len(source.scale), len(source.zero), len(steps_of_quant), quantiser.zero.size)
    ratios = [
        source.scale[c % len(source.scale)] / steps_of_quant[c % len(steps_of_quant)]
        for c in range(count)
    ]
    shift = max(r.denominator.bit_length() - 1 for r in ratios)
    if any((r * 2**shift).denominator != 1 or r * 2**shift >= _LARGEST_RATIO for r in ratios):
        return None
    mult = [int(r * 2**shift) for r in ratios]
    zeros = [int(quantiser.zero[c % quantiser.zero.size]) for c in range(count)]
    if quantiser.rounds_first:
        inner, outer = [0] * count, zeros
    else:
        inner, outer = [z << shift for z in zeros], [0] * count
    add = [inner[c] - mult[c] * source.zero[c % len(source.zero)] for c in range(count)]
    ends = [x * m + a for x in source.range for m, a in zip(mult, add, strict=True)]
    line = AffineStage(_shortest(mult), _shortest(add), 0, min(ends), max(ends))
    if len(set(outer)) > 1:
        return None
    clip = ShiftStage(shift, quantiser.rounding, bounds.lo - outer[0], bounds.hi - outer[0])
    stages = [line, clip]
    if outer[0]:
        stages.append(AffineStage((1,), (outer[0],), 0, bounds.lo, bounds.hi))
    found, channels = Requantiser.of(stages), len(steps.first)
    if found.channels not in (1, channels):
        return None
    return found if steps_of(found, channels, steps.inputs) == steps else None


def _shortest(values: list[int]) -> tuple[int, ...]:
    return tuple(values[:1]) if len(set(values)) == 1 else tuple(values)


def _fixed_point_sum(
    interpreter: Interpreter,
    node: NodeProto,
    chain: FloatChain,
    quantiser: Quantiser,
    steps: StepFunction,
    changes: dict,
) -> CodeTensor:
    """The addition and its Quant as one task, in fixed point where that is proven equal."""
    total = chain.sum
    mults = [mult for _, mult in total.terms]
    fit = fit_sum(mults, [tensor.range for tensor, _ in total.terms], steps)
    if fit is not None:
        mults, map_ = list(fit.mults), Requantiser((fit.stage,))
    else:
        map_ = realised(steps, chain, quantiser)
    out = total.total.named(node.output[0], range=steps.outputs, **changes)
    return emit_sum(interpreter, total, mults, node.output[0], map_, out)
