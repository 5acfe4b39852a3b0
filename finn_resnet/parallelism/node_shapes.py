"""Reading hardware nodes into the small dataclasses the cost functions work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.numerics.dsp_packing import Packing, packing_of
from finn_resnet.numerics.ranges import Range
from finn_resnet.parallelism.conv_cost import ConvShape
from finn_resnet.parallelism.stream_task_cost import Picture
from finn_resnet.parallelism.window_cost import WindowShape
from finn_resnet.transformation.stream_profile import output_picture

_UNKNOWN_CODE_BITS = 8


def code_bits(model: Any, tensor: str) -> int:
    """Bits of one code of ``tensor`` by its DataType annotation (8 where it has none)."""
    datatype = model.get_tensor_datatype(tensor)
    return datatype.bitwidth() if datatype.is_integer() else _UNKNOWN_CODE_BITS


def picture(model: Any, node: NodeProto, index: int) -> Picture:
    """The picture ``node`` writes to its output ``index``."""
    return Picture(*output_picture(node, index).size, code_bits(model, node.output[index]))


def input_picture(model: Any, node: NodeProto) -> Picture:
    """The picture a node reads, itself or through its window buffer."""
    op = getCustomOp(node)
    read = op.input_picture()
    if read is None:
        read = getCustomOp(model.find_producer(node.input[0])).input_picture()
    return Picture(*read.size, code_bits(model, node.input[0]))


def window_shape(model: Any, node: NodeProto) -> WindowShape:
    """Sizes of a WindowBuffer."""
    op = getCustomOp(node)
    sizes = op.attrs("ich", "ih", "iw", "oh", "ow", "fh", "fw")
    stride, pads, ih, oh, fh = op.attrs("stride", "pads", "ih", "oh", "fh")
    last_window = range((oh - 1) * stride[0] - pads[0], (oh - 1) * stride[0] - pads[0] + fh)
    return WindowShape(
        *sizes,
        stride_w=stride[1],
        pad_left=pads[1],
        last_row=ih - 1 in last_window,
        forward=bool(op.get_nodeattr("forward")),
        code_bits=code_bits(model, node.input[0]),
    )


def conv_shape(model: Any, node: NodeProto) -> ConvShape:
    """Sizes, widths and epilogue of a convolution; accumulator widths are exact.

    Those of a grouped one are a group's: its channels, the whole picture.
    """
    op = getCustomOp(node)
    requants = [op.get_nodeattr("requant")]
    if op.skip_form == "epilogue":
        requants.insert(0, op.get_nodeattr("pre_requant"))
    operands = conv_operands(model, node)
    weights, codes, packing = operands[0]
    acc = _accumulator(model, op.bias, weights, codes)
    downsample = {}
    if op.has_downsample:
        ds_weights, ds_codes, ds_packing = operands[1]
        ds_acc = _accumulator(model, op.ds_bias, ds_weights, ds_codes)
        downsample = {
            "merged_downsample": True,
            "ds_weight_bits": op.get_nodeattr("ds_weight_bits"),
            "ds_acc_bits": ds_acc.bits,
            "ds_packing": ds_packing,
            "ds_signed_codes": ds_codes.signed,
            "ds_requant": op.get_nodeattr("ds_requant"),
        }
    group = op.get_nodeattr("group")
    return ConvShape(
        *(channels // group for channels in op.attrs("och", "ich")),
        *op.attrs("oh", "ow", "fh", "fw"),
        stride_w=op.get_nodeattr("stride")[1],
        in_bits=codes.bits,
        weight_bits=op.get_nodeattr("weight_bits"),
        acc_bits=acc.bits,
        packing=packing,
        signed_codes=codes.signed,
        skip=op.has_skip,
        skip_factors=op.join_factors() if op.has_skip else (),
        requants=tuple(requants),
        **downsample,
    )


def conv_operands(model: Any, node: NodeProto) -> list[tuple[np.ndarray, Range, Packing]]:
    """Weights [och, fh, fw, ich / group], range of the codes they meet, how both share DSPs.

    The convolution's own, then the merged downsample's.
    """
    op = getCustomOp(node)
    operands = [(parameter_initialiser(model, op.weights), op.input_range())]
    if op.has_downsample:
        operands.append((parameter_initialiser(model, op.ds_weights), op.ds_input_range()))
    return [(*pair, _packing(*pair)) for pair in operands]


def parameter_initialiser(model: Any, tensor: str) -> np.ndarray:
    """Integer weights behind a parameter edge: the initialiser of its ParameterStream."""
    producer = model.find_producer(tensor)
    return model.get_initializer(producer.input[0] if producer is not None else tensor)


def _packing(weights: np.ndarray, codes: Range) -> Packing:
    return packing_of(Range(int(weights.min()), int(weights.max())), codes)


def _accumulator(model: Any, bias: str, weights: np.ndarray, codes: Range) -> Range:
    # Partial sums and the zero start value must fit as well.
    found = accumulator_range(weights, model.get_initializer(bias), codes.including(0))
    return found.including(0)
