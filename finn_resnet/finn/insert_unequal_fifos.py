"""InsertUnequalFIFOs: FIFOs of second outputs that differ from the first."""

from __future__ import annotations

from onnx import NodeProto, TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp
from qonnx.transformation.base import Transformation

from finn_resnet.finn.layer import HardwareLayer
from finn_resnet.finn.layers import LAYER_DOMAIN
from finn_resnet.transformation.graph_edit import readers

_LEAST_DEPTH = 2


class InsertUnequalFIFOs(Transformation):
    """Insert a StreamingFIFO on every further output whose words differ from the first output's.

    FINN's InsertFIFO takes shape and type of a node's first output for all of them, and refuses a
    forwarding window buffer. It leaves streams alone that have a FIFO already, so run this first.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        for node in list(model.graph.node):
            layer = _layer(node)
            if layer is None:
                continue
            for index in range(1, len(node.output)):
                if _stream(layer, index) != _stream(layer, 0):
                    _insert(model, layer, index)
        return model, False


def _layer(node: NodeProto) -> HardwareLayer | None:
    if not node.domain.startswith(LAYER_DOMAIN):
        return None
    op = getCustomOp(node)
    return op if isinstance(op, HardwareLayer) else None


def _stream(layer: HardwareLayer, index: int) -> tuple:
    return layer.get_folded_output_shape(index), layer.get_output_datatype(index)


def _insert(model: ModelWrapper, layer: HardwareLayer, index: int) -> None:
    tensor = layer.onnx_node.output[index]
    (reader,) = readers(model, tensor)
    if reader.node.op_type.startswith("StreamingFIFO"):
        return
    shape = layer.get_normal_output_shape(index)
    buffered = f"{tensor}_fifo"
    info = helper.make_tensor_value_info(buffered, TensorProto.FLOAT, shape)
    model.graph.value_info.append(info)
    model.set_tensor_datatype(buffered, layer.get_output_datatype(index))
    fifo = helper.make_node(
        "StreamingFIFO",
        [tensor],
        [buffered],
        domain=LAYER_DOMAIN,
        backend="fpgadataflow",
        depth=max(layer.get_nodeattr("outFIFODepths")[index], _LEAST_DEPTH),
        folded_shape=layer.get_folded_output_shape(index),
        normal_shape=shape,
        dataType=layer.get_output_datatype(index).name,
    )
    position = list(model.graph.node).index(layer.onnx_node)
    reader.rewire(buffered)
    model.graph.node.insert(position + 1, fifo)
