"""QONNX custom ops of the hardware graph, domain ``finn_resnet.custom_ops``."""

from finn_resnet.custom_ops.base import DOMAIN
from finn_resnet.custom_ops.channel_requant import ChannelRequant
from finn_resnet.custom_ops.dma import InputDMA, OutputDMA
from finn_resnet.custom_ops.elementwise import (
    StreamAdd,
    StreamFork,
    StreamRequant,
    StreamWidthAdapter,
)
from finn_resnet.custom_ops.host import DequantizeOutput, QuantizeInput
from finn_resnet.custom_ops.parameter_stream import ParameterStream
from finn_resnet.custom_ops.stream_conv import StreamConv
from finn_resnet.custom_ops.stream_pool import StreamPool
from finn_resnet.custom_ops.window_buffer import WindowBuffer

__all__ = [
    "DOMAIN",
    "ChannelRequant",
    "DequantizeOutput",
    "InputDMA",
    "OutputDMA",
    "ParameterStream",
    "QuantizeInput",
    "StreamAdd",
    "StreamConv",
    "StreamFork",
    "StreamPool",
    "StreamRequant",
    "StreamWidthAdapter",
    "WindowBuffer",
]

# Older qonnx finds ops through this dictionary, newer through __all__.
custom_op = {name: globals()[name] for name in __all__ if name != "DOMAIN"}
