"""Which function lowers which operator."""

from __future__ import annotations

from collections.abc import Callable

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.lowering.arithmetic import (
    extend_chain,
    lower_add,
    lower_factor,
    lower_relu,
    lower_sub,
)
from finn_resnet.lowering.channel_requant import lower_channel_requant
from finn_resnet.lowering.convolution import lower_conv, lower_dense
from finn_resnet.lowering.host_ends import extend_host, lower_dequantise
from finn_resnet.lowering.interpreter import Handler, Interpreter, NeedsContract
from finn_resnet.lowering.layout import lower_reshape, lower_transpose
from finn_resnet.lowering.picking import lower_concat, lower_pad, lower_slice
from finn_resnet.lowering.pooling import lower_average_pool, lower_global_average, lower_max_pool
from finn_resnet.lowering.quantisation import lower_quant, lower_trunc
from finn_resnet.lowering.resize import lower_resize

HANDLERS: dict[str, Handler] = {
    "Quant": lower_quant,
    "Trunc": lower_trunc,
    "Conv": lower_conv,
    "Gemm": lower_dense,
    "MatMul": lower_dense,
    "Add": lower_add,
    "Sum": lower_add,
    "Sub": lower_sub,
    "Mul": lower_factor,
    "Div": lower_factor,
    "Relu": lower_relu,
    **dict.fromkeys(
        (
            "BatchNormalization",
            "Neg",
            "Clip",
            "LeakyRelu",
            "PRelu",
            "HardSigmoid",
            "Sigmoid",
            "Tanh",
            "Elu",
            "Selu",
            "Softplus",
            "Softsign",
        ),
        extend_chain,
    ),
    "MaxPool": lower_max_pool,
    "AveragePool": lower_average_pool,
    "GlobalAveragePool": lower_global_average,
    "ReduceMean": lower_global_average,
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), lower_reshape),
    "Transpose": lower_transpose,
    "Slice": lower_slice,
    "Pad": lower_pad,
    "Concat": lower_concat,
    "Resize": lower_resize,
    "Upsample": lower_resize,
    "ChannelRequant": lower_channel_requant,
    "DequantizeLinear": lower_dequantise,
    **dict.fromkeys(
        ("Softmax", "LogSoftmax", "ArgMax", "ArgMin", "TopK", "Cast", "Identity", "QuantizeLinear"),
        extend_host,
    ),
}
"""Operators of a model file and what lowers them; docs/own_network.md is generated from it."""


def lowers(*op_types: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the one that lowers these ONNX operators."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(op_types, handler))
        return handler

    return register


def interpret(model: ModelWrapper) -> Interpreter:
    """Follow the integer codes of a tidied QONNX model.

    The reference is qonnx's float32 execution as long as that is exact, else the contract;
    `Interpreter.reference` says which.
    """
    try:
        return Interpreter(model, HANDLERS, "qonnx").run()
    except NeedsContract:
        return Interpreter(model, HANDLERS, "contract").run()
