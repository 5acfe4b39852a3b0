"""TidyQonnx: one normal form for the many ways exporters write the same network."""

from __future__ import annotations

import numpy as np
from onnx import helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation
from qonnx.transformation.fold_constants import FoldConstants
from qonnx.transformation.general import (
    GiveUniqueParameterTensors,
    RemoveStaticGraphInputs,
    RemoveUnusedTensors,
    SortGraph,
)
from qonnx.transformation.infer_shapes import InferShapes
from qonnx.transformation.qcdq_to_qonnx import QCDQToQuant
from qonnx.transformation.remove import RemoveIdentityOps

from finn_resnet.errors import UserError
from finn_resnet.importing.quantiser import QUANT_OPS, is_quant

QONNX_DOMAIN = "qonnx.custom_op.general"


class TidyQonnx(Transformation):
    """Normalise domains, batch size, constants and names; values stay as they are.

    Tensor names are kept, node names are kept where they are unique. Weight and bias Quant nodes
    stay nodes. The transformation may be applied twice without effect.

    Raises:
        UserError: symbolic channels or picture size.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        _set_quant_domain(model)
        model = model.transform(RemoveStaticGraphInputs())
        if any(n.op_type == "DequantizeLinear" for n in model.graph.node):
            model = model.transform(QCDQToQuant())
        _fix_input_shapes(model)
        _constants_to_initialisers(model)
        _drop_no_ops(model)
        model = model.transform(SortGraph())
        model = _infer_all_shapes(model)
        model = model.transform(FoldConstants(exclude_op_types=list(QUANT_OPS)))
        _fold_weight_transposes(model)
        _free_batch_in_reshapes(model)
        for step in (RemoveIdentityOps(), GiveUniqueParameterTensors(), RemoveUnusedTensors()):
            model = model.transform(step)
        _name_nodes(model)
        return _infer_all_shapes(model), False


def _set_quant_domain(model: ModelWrapper) -> None:
    for node in model.graph.node:
        if is_quant(node):
            node.domain = QONNX_DOMAIN
    used = {node.domain for node in model.graph.node}
    for domain in used - {"", *(entry.domain for entry in model.model.opset_import)}:
        model.model.opset_import.append(helper.make_opsetid(domain, 1))


def _fix_input_shapes(model: ModelWrapper) -> None:
    """Batch 1 for a symbolic or larger batch; every other extent must be a number."""
    for tensor in model.graph.input:
        dims = tensor.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if axis == 0:
                dim.dim_value = 1
            elif dim.dim_value < 1:
                shown = dim.dim_param or "?"
                raise UserError(
                    f"input {tensor.name} has the dynamic size {shown!r} on axis {axis}; the "
                    "accelerator is built for one picture size: export with fixed height and width"
                )
    known = {tensor.name for tensor in model.graph.input}
    for tensor in model.graph.output:
        if tensor.name not in known:
            tensor.type.tensor_type.ClearField("shape")
    # Shapes inferred by the exporter may carry the old batch or symbols.
    del model.graph.value_info[:]


def _constants_to_initialisers(model: ModelWrapper) -> None:
    for node in [n for n in model.graph.node if n.op_type == "Constant"]:
        value = next((a for a in node.attribute if a.name == "value"), None)
        if value is not None:
            array = np.array(_tensor_to_array(value.t))
            model.graph.node.remove(node)
            model.set_initializer(node.output[0], array)


def _tensor_to_array(tensor: object) -> np.ndarray:
    from onnx import numpy_helper

    return numpy_helper.to_array(tensor)


def _drop_no_ops(model: ModelWrapper) -> None:
    """Remove Identity and inference-time Dropout, rewiring by (consumer, input index)."""
    outputs = {tensor.name for tensor in model.graph.output}
    for node in [n for n in model.graph.node if n.op_type in ("Identity", "Dropout")]:
        if node.output[0] in outputs:
            continue
        for consumer in model.graph.node:
            for index, name in enumerate(consumer.input):
                if name == node.output[0]:
                    consumer.input[index] = node.input[0]
        model.graph.node.remove(node)


def _infer_all_shapes(model: ModelWrapper) -> ModelWrapper:
    model = model.transform(InferShapes())
    for tensor in model.graph.output:
        if not tensor.type.tensor_type.HasField("shape"):
            shape = model.get_tensor_shape(tensor.name)
            if shape is None:
                raise UserError(
                    f"the shape of output {tensor.name} cannot be inferred; the graph holds an "
                    "operator onnx does not know: run `finn-resnet check` on it"
                )
    return model


def _fold_weight_transposes(model: ModelWrapper) -> None:
    """Quant(W) -> Transpose -> MatMul becomes Quant(W^T) -> MatMul."""
    for node in [n for n in model.graph.node if n.op_type == "Transpose"]:
        quant = model.find_producer(node.input[0])
        if quant is None or not is_quant(quant) or model.get_tensor_fanout(node.input[0]) != 1:
            continue
        weights, scale = (model.get_initializer(name) for name in quant.input[:2])
        if weights is None or scale is None:
            continue
        perm = list(node.attribute[0].ints) if node.attribute else list(range(weights.ndim))[::-1]
        model.set_initializer(quant.input[0], weights.transpose(perm))
        if scale.ndim == weights.ndim:
            model.set_initializer(quant.input[1], scale.transpose(perm))
        quant.output[0] = node.output[0]
        model.set_tensor_shape(quant.output[0], [weights.shape[axis] for axis in perm])
        model.graph.node.remove(node)


def _free_batch_in_reshapes(model: ModelWrapper) -> None:
    """Reshape to [1, ...] becomes [0, ...]: the same for one picture, and right for a batch."""
    for node in model.graph.node:
        shape = model.get_initializer(node.input[1]) if node.op_type == "Reshape" else None
        if shape is not None and shape.size > 1 and shape[0] == 1:
            model.set_initializer(node.input[1], np.array([0, *shape[1:]], np.int64))


def _name_nodes(model: ModelWrapper) -> None:
    taken: set[str] = set()
    for index, node in enumerate(model.graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{index}"
        taken.add(node.name)
