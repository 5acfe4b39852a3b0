"""Which function lowers which operator."""

from __future__ import annotations

from collections.abc import Callable

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.lowering.arithmetic import extend_chain, lower_add, lower_relu, lower_reshape
from finn_resnet.lowering.channel_requant import lower_channel_requant
from finn_resnet.lowering.convolution import lower_conv, lower_dense
from finn_resnet.lowering.interpreter import Handler, Interpreter, NeedsContract
from finn_resnet.lowering.pooling import lower_average_pool, lower_global_average, lower_max_pool
from finn_resnet.lowering.quantisation import lower_quant

HANDLERS: dict[str, Handler] = {
    "Quant": lower_quant,
    "Conv": lower_conv,
    "Gemm": lower_dense,
    "MatMul": lower_dense,
    "Relu": lower_relu,
    "Add": lower_add,
    "Sub": extend_chain,
    "Mul": extend_chain,
    "Div": extend_chain,
    "BatchNormalization": extend_chain,
    "MaxPool": lower_max_pool,
    "AveragePool": lower_average_pool,
    "GlobalAveragePool": lower_global_average,
    "ReduceMean": lower_global_average,
    "Flatten": lower_reshape,
    "Reshape": lower_reshape,
    "Squeeze": lower_reshape,
    "ChannelRequant": lower_channel_requant,
}


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
