"""How a tensor edge is laid out on its physical streams (architecture, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto
from qonnx.custom_op.registry import getCustomOp

ELEMENTWISE_OPS = ("InputDMA", "OutputDMA", "StreamFork", "StreamAdd", "StreamRequant")


@dataclass(frozen=True, order=True)
class StreamProfile:
    """``lanes`` streams (columns modulo lanes), each token packing ``ch_par`` codes."""

    lanes: int
    ch_par: int


def input_profile(node: NodeProto, index: int) -> StreamProfile | None:
    """Layout in which ``node`` reads its input ``index``.

    None for inputs that are no picture stream: windows, parameters, initialisers, host nodes.
    """
    op = getCustomOp(node)
    if node.op_type in ELEMENTWISE_OPS:
        # The first input of the InputDMA and the output of the OutputDMA are memory beats.
        if node.op_type == "InputDMA":
            return None
        return StreamProfile(*op.attrs("lanes", "ch_par"))
    if node.op_type == "StreamWidthAdapter":
        return StreamProfile(*op.attrs("in_lanes", "in_ch_par"))
    if node.op_type == "WindowBuffer":
        return StreamProfile(op.lanes_in(), op.get_nodeattr("ich_par"))
    if node.op_type == "StreamPool" and not op.get_nodeattr("windowed"):
        return StreamProfile(*op.attrs("ow_par", "ch_par"))
    if node.op_type == "StreamConv" and op.has_skip and index == len(node.input) - 1:
        return StreamProfile(*op.attrs("ow_par", "och_par"))
    return None


def output_profile(node: NodeProto, index: int) -> StreamProfile | None:
    """Layout in which ``node`` writes its output ``index``; None where it is no picture stream."""
    op = getCustomOp(node)
    if node.op_type in ELEMENTWISE_OPS:
        if node.op_type == "OutputDMA":
            return None
        return StreamProfile(*op.attrs("lanes", "ch_par"))
    if node.op_type == "StreamWidthAdapter":
        return StreamProfile(*op.attrs("out_lanes", "out_ch_par"))
    if node.op_type == "WindowBuffer" and index == 1:
        return StreamProfile(op.lanes_in(), op.get_nodeattr("ich_par"))
    if node.op_type == "StreamPool":
        # A global pool's output has one column, hence one lane.
        lanes = op.get_nodeattr("ow_par") if op.get_nodeattr("windowed") else 1
        return StreamProfile(lanes, op.get_nodeattr("ch_par"))
    if node.op_type == "StreamConv":
        return StreamProfile(*op.attrs("ow_par", "och_par"))
    return None


def picture_size(node: NodeProto, index: int) -> tuple[int, int, int]:
    """Height, width and channels of the picture ``node`` writes to its output ``index``."""
    op = getCustomOp(node)
    if node.op_type == "StreamConv":
        return op.attrs("oh", "ow", "och")
    if node.op_type == "StreamPool":
        return op.attrs("oh", "ow", "ch")
    if node.op_type == "WindowBuffer" and index == 1:
        return op.attrs("ih", "iw", "ich")
    if node.op_type in (*ELEMENTWISE_OPS, "StreamWidthAdapter"):
        return op.attrs("h", "w", "ch")
    raise ValueError(f"output {index} of {node.op_type} {node.name} is no picture stream")
