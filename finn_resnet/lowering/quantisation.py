"""Quant nodes: on the graph input, on parameters, on integer tensors and at the end of a chain."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from finn_resnet.importing.quantiser import Quantiser, power_of_two_exponent, read_quantiser
from finn_resnet.lowering.float_chain import chain_requantiser
from finn_resnet.lowering.interpreter import (
    Interpreter,
    Unsupported,
    fractions_of,
    read_quant_constant,
)
from finn_resnet.lowering.tensors import CodeTensor, FloatChain, GraphInput
from finn_resnet.numerics.requantiser import Requantiser, ShiftStage

MAX_CODE_BITS = 16
"""Widest activation quantiser: every code above would be a threshold of the proof."""


def lower_quant(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Quant and IntQuant."""
    constant = read_quant_constant(interpreter, node)
    if constant is not None:
        interpreter.tensors[node.output[0]] = constant
        return
    quantiser = read_quantiser(interpreter.model, node)
    if quantiser.scale.size != 1:
        raise Unsupported(
            f"activation scale has {quantiser.scale.size} entries", "use one scale per tensor"
        )
    if quantiser.bits > MAX_CODE_BITS:
        raise Unsupported(
            f"activation bit width = {quantiser.bits}", f"use at most {MAX_CODE_BITS} bits"
        )
    source = interpreter.tensors[node.input[0]]
    if isinstance(source, GraphInput):
        result = _quantise_input(interpreter, node, source, quantiser)
    elif isinstance(source, CodeTensor) and _on_power_of_two_grid(source, quantiser):
        result = _shift(interpreter, node, source, quantiser)
    else:
        result = _through_chain(interpreter, node, source, quantiser)
    interpreter.tensors[node.output[0]] = result


def _quantise_input(
    interpreter: Interpreter, node: NodeProto, source: GraphInput, quantiser: Quantiser
) -> CodeTensor:
    name = node.output[0]
    if len(source.shape) != 4:
        raise Unsupported(
            f"the graph input has shape {list(source.shape)}", "use a picture [N, C, H, W]"
        )
    if quantiser.bits > 8:
        raise Unsupported(f"input bit width = {quantiser.bits}", "use at most 8 bits")
    for other in interpreter.builder.nodes:
        if other.op_type == "QuantizeInput":
            raise Unsupported(
                "a second Quant reads the graph input", "quantise the input once and fork after it"
            )
    _, c, h, w = source.shape
    scale = float(quantiser.scale)
    codes = CodeTensor(name, fractions_of(quantiser.scale), quantiser.range, (h, w, c))
    interpreter.builder.node(
        "QuantizeInput",
        "quantize_input",
        [source.name],
        [f"{name}_host"],
        scale=scale,
        bits=quantiser.bits,
        signed=int(quantiser.signed),
        narrow=int(quantiser.narrow),
        rounding_mode=quantiser.rounding,
        shape=list(source.shape),
    )
    interpreter.builder.describe(f"{name}_host", (1, h, w, c), quantiser.range)
    interpreter.builder.node(
        "InputDMA", "input_dma", [f"{name}_host"], [name], h=h, w=w, ch=c,
        code_bytes=1, signed=int(quantiser.signed),
    )  # fmt: skip
    interpreter.describe(codes)
    return codes


def _on_power_of_two_grid(source: CodeTensor, quantiser: Quantiser) -> bool:
    return source.exponent is not None and power_of_two_exponent(float(quantiser.scale)) is not None


def _shift(
    interpreter: Interpreter, node: NodeProto, source: CodeTensor, quantiser: Quantiser
) -> CodeTensor:
    exponent = power_of_two_exponent(float(quantiser.scale))
    bounds = quantiser.range
    stage = ShiftStage(exponent - source.exponent, quantiser.rounding, bounds.lo, bounds.hi)
    return interpreter.emit_requant(
        source, node.output[0], Requantiser((stage,)), scale=fractions_of(quantiser.scale)
    )


def _through_chain(
    interpreter: Interpreter,
    node: NodeProto,
    source: CodeTensor | FloatChain,
    quantiser: Quantiser,
) -> CodeTensor:
    chain = source if isinstance(source, FloatChain) else FloatChain(source, (), {})
    constants = {name: interpreter.model.get_initializer(name) for name in node.input[1:4]}
    constants = {name: np.asarray(value, np.float32) for name, value in constants.items()}
    chain = chain.extended(node, constants)
    map_ = chain_requantiser(chain, quantiser, interpreter.reference)
    interpreter.chains[node.name] = (chain, map_)
    return interpreter.emit_requant(
        chain.source, node.output[0], map_, scale=fractions_of(quantiser.scale)
    )
