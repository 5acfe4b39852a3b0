"""What must hold in a hardware graph between any two steps."""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.streams import PictureStream, Stream
from finn_resnet.transformation.graph_edit import hardware_ops, readers


def check_hardware_graph(model: ModelWrapper) -> list[str]:
    """Everything that is wrong with the hardware nodes of a graph: empty when it is legal.

    Every node is legal by itself, every stream has one reader, and both ends of an edge name the
    same stream. Lanes and channels of a picture may differ: `InsertWidthAdapters` puts an adapter
    there, and the generator insists on it. A graph without hardware nodes has no problems.
    """
    ops = hardware_ops(model)
    by_name = {op.onnx_node.name: op for op in ops}
    found = [f"node {op.onnx_node.name}: {text}" for op in ops for text in op.problems()]
    if found:
        # Illegal nodes cannot say what their streams are.
        return found
    return [
        text
        for op in ops
        for tensor, stream in zip(op.onnx_node.output, op.output_streams(), strict=True)
        for text in _edge_problems(model, by_name, op, tensor, stream)
    ]


def _edge_problems(
    model: ModelWrapper, ops: dict[str, HardwareOp], op: HardwareOp, tensor: str, stream: Stream
) -> list[str]:
    writer = op.onnx_node.name
    ends = readers(model, tensor)
    if len(ends) != 1:
        names = ", ".join(end.node.name for end in ends) or "none"
        return [f"node {writer}: {tensor} has {len(ends)} readers ({names}), a stream has one"]
    reader = ops.get(ends[0].node.name)
    if reader is None:
        return []
    wanted = reader.input_streams()[ends[0].index]
    if wanted is None or _size(wanted) != _size(stream):
        what = wanted or "no stream"
        return [f"node {writer} writes {stream}, but {ends[0].node.name} reads {what}"]
    return []


def _size(stream: Stream) -> object:
    return stream.size if isinstance(stream, PictureStream) else stream
