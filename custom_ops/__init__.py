"""QONNX custom ops of the hardware graph, domain ``finn_resnet.custom_ops``."""

from finn_resnet.custom_ops.base import DOMAIN, HardwareOp, SearchRole
from finn_resnet.custom_ops.channel_requant import ChannelRequant
from finn_resnet.custom_ops.dma import InputDMA, OutputDMA
from finn_resnet.custom_ops.elementwise import (
    StreamAdd,
    StreamFork,
    StreamRequant,
    StreamWidthAdapter,
)
from finn_resnet.custom_ops.host import DequantizeOutput, LinearQuant, QuantizeInput
from finn_resnet.custom_ops.parameter_stream import ParameterStream
from finn_resnet.custom_ops.stream_concat import StreamConcat
from finn_resnet.custom_ops.stream_conv import StreamConv
from finn_resnet.custom_ops.stream_grouped_conv import StreamGroupedConv
from finn_resnet.custom_ops.stream_pool import StreamPool
from finn_resnet.custom_ops.stream_resize import StreamResize
from finn_resnet.custom_ops.window_buffer import WindowBuffer

__all__ = [
    "DOMAIN",
    "ChannelRequant",
    "DequantizeOutput",
    "InputDMA",
    "LinearQuant",
    "OutputDMA",
    "ParameterStream",
    "QuantizeInput",
    "StreamAdd",
    "StreamConcat",
    "StreamConv",
    "StreamFork",
    "StreamGroupedConv",
    "StreamPool",
    "StreamRequant",
    "StreamResize",
    "StreamWidthAdapter",
    "WindowBuffer",
    "is_helper",
    "register_op",
]

# Older qonnx finds ops through this dictionary, newer through __all__.
custom_op = {
    name: globals()[name] for name in __all__ if name not in ("DOMAIN", "is_helper", "register_op")
}


def register_op(op: type[HardwareOp]) -> type[HardwareOp]:
    """Add an operator of a user's own to the domain; use as a class decorator.

    Its cost joins by `finn_resnet.parallelism.costs.costs`, its code by
    `finn_resnet.generation.registry.generates`, its lowering by
    `finn_resnet.lowering.operators.lowers`.
    """
    globals()[op.__name__] = op
    custom_op[op.__name__] = op
    __all__.append(op.__name__)
    return op


def is_helper(op_type: str) -> bool:
    """Whether an operator only serves a layer: a window buffer, a parameter task, an adapter."""
    helpers = (SearchRole.SERVED, SearchRole.ADAPTER)
    return op_type in custom_op and custom_op[op_type].role in helpers
