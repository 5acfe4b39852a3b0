"""Ranges of what a node's requantiser sees: the domain of every threshold proof."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import to_codes
from finn_resnet.custom_ops.stream_conv import ConvOp, accumulator_range
from finn_resnet.numerics.ranges import Range
from finn_resnet.transformation.graph_edit import as_op, code_range


def total_range(model: ModelWrapper, node: NodeProto, output: int = 0) -> Range:
    """Range before requantisation of a conv, pool, add or requant node's output.

    Args:
        model: hardware graph.
        node: a convolution, StreamPool, StreamAdd, StreamConcat or StreamRequant.
        output: output index; 1 is a convolution's merged downsample.
    """
    op = as_op(node)
    if not isinstance(op, ConvOp):
        return op.total_range(*(code_range(model, name) for name in node.input))
    if output == 1:
        return conv_accumulator_range(model, node, merged=True)
    skip = code_range(model, op.skip) if op.has_skip else None
    return op.total_range(conv_accumulator_range(model, node), skip)


def conv_accumulator_range(model: ModelWrapper, node: NodeProto, merged: bool = False) -> Range:
    """Exact accumulator range from the actual weights, of the main or the merged convolution."""
    op: ConvOp = as_op(node)
    weights, bias = (op.ds_weights, op.ds_bias) if merged else (op.weights, op.bias)
    constant = [
        to_codes(model.get_initializer(name)) for name in (_weights_name(model, weights), bias)
    ]
    codes = op.ds_input_range() if merged else op.input_range()
    return accumulator_range(*constant, codes)


def _weights_name(model: ModelWrapper, stream: str) -> str:
    return model.find_producer(stream).input[0]
