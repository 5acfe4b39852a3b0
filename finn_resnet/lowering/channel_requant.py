"""ChannelRequant nodes that `MergeBatchNorm` left in the float graph."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.lowering.interpreter import Interpreter, fractions_of


def lower_channel_requant(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of ChannelRequant: the integer map is already known."""
    source = interpreter.codes(node.input[0])
    scale = fractions_of(interpreter.constant(node.input[2]).values)
    op = getCustomOp(node)
    map_, zero = op.requantiser(), (op.get_nodeattr("zero_point"),)
    interpreter.tensors[node.output[0]] = interpreter.emit_requant(
        source, node.output[0], map_, scale=scale, zero=zero
    )
