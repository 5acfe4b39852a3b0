"""Layouts of the pictures between nodes: views of what the ops declare (`custom_ops.streams`)."""

from __future__ import annotations

from onnx import NodeProto

from finn_resnet.custom_ops.streams import PictureStream, StreamProfile
from finn_resnet.transformation.graph_edit import as_op

__all__ = ["StreamProfile", "input_profile", "output_picture", "output_profile"]


def input_profile(node: NodeProto, index: int) -> StreamProfile | None:
    """Layout in which ``node`` reads its input ``index``; None where that is no picture."""
    stream = as_op(node).input_streams()[index]
    return stream.profile if isinstance(stream, PictureStream) else None


def output_profile(node: NodeProto, index: int) -> StreamProfile | None:
    """Layout in which ``node`` writes its output ``index``; None where that is no picture."""
    stream = as_op(node).output_streams()[index]
    return stream.profile if isinstance(stream, PictureStream) else None


def output_picture(node: NodeProto, index: int) -> PictureStream:
    """The picture ``node`` writes to its output ``index``.

    Raises:
        ValueError: it writes something else there.
    """
    stream = as_op(node).output_streams()[index]
    if not isinstance(stream, PictureStream):
        raise ValueError(f"output {index} of {node.op_type} {node.name} is no picture stream")
    return stream
