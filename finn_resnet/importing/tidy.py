"""TidyQonnx: one normal form for the many ways exporters write the same network."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, helper, numpy_helper
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

from finn_resnet.errors import UserError
from finn_resnet.importing.fuse_qdq import OWN_DOMAIN, QONNX_DOMAIN, FuseQdq
from finn_resnet.importing.quantiser import QUANT_OPS, is_quant

_NOT_FOLDED = [*QUANT_OPS, "DequantizeLinear"]


class TidyQonnx(Transformation):
    """Normalise domains, batch size, QDQ pairs, constants and names; values stay as they are.

    Tensor names are kept, node names are kept where they are unique. Weight and bias Quant nodes
    stay nodes. The transformation may be applied twice without effect.

    Raises:
        UserError: symbolic channels or picture size.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        # Shapes inferred by the exporter may carry the old batch or symbols, or list outputs twice.
        del model.graph.value_info[:]
        _normalise_quantisers(model)
        model = model.transform(RemoveStaticGraphInputs())
        batch = _fix_input_shapes(model)
        _constants_to_initialisers(model)
        _drop_no_ops(model)
        _free_batch_in_reshapes(model, batch)
        model = _infer_all_shapes(model.transform(SortGraph()))
        if any(n.op_type == "DequantizeLinear" for n in model.graph.node):
            model = model.transform(FuseQdq()).transform(SortGraph())
            _drop_no_ops(model)
            model = _infer_all_shapes(model)
        model = model.transform(FoldConstants(exclude_op_types=_NOT_FOLDED))
        _fold_weight_transposes(model)
        _drop_neutral_arithmetic(model)
        _merge_means(model)
        _maxima_as_pools_and_clips(model)
        _free_batch_in_resizes(model)
        for step in (GiveUniqueParameterTensors(), RemoveUnusedTensors()):
            model = model.transform(step)
        _name_nodes(model)
        return _infer_all_shapes(model), False


def _normalise_quantisers(model: ModelWrapper) -> None:
    """One domain, and attributes that an exporter left at their defaults written out."""
    for node in model.graph.node:
        if is_quant(node):
            if node.op_type != "LinearQuant":
                node.domain = QONNX_DOMAIN
            if node.op_type in ("Quant", "IntQuant"):
                given = {attribute.name for attribute in node.attribute}
                for name in {"signed", "narrow"} - given:
                    node.attribute.append(helper.make_attribute(name, 1))
                for index, part in enumerate(("scale", "zero", "width"), 1):
                    _one_value(model, node, index, part)
        elif node.op_type == "Trunc" and node.domain:
            node.domain = QONNX_DOMAIN
    used = {node.domain for node in model.graph.node}
    declared = {entry.domain for entry in model.model.opset_import}
    for domain in used - {"", *declared}:
        model.model.opset_import.append(helper.make_opsetid(domain, 1))
    if OWN_DOMAIN not in used | declared:
        model.model.opset_import.append(helper.make_opsetid(OWN_DOMAIN, 1))


def _one_value(model: ModelWrapper, node: NodeProto, index: int, part: str) -> None:
    """A parameter with one value many times becomes that value: qonnx takes one width only, and
    not every shape of a scale broadcasts."""
    values = model.get_initializer(node.input[index])
    if values is not None and values.size > 1 and np.all(values == values.ravel()[0]):
        node.input[index] = f"{node.output[0]}_{part}"
        model.set_initializer(node.input[index], values.ravel()[0].reshape(()))


def _fix_input_shapes(model: ModelWrapper) -> int:
    """Batch 1 for a symbolic or larger batch; every other extent must be a number.

    Returns the batch the file had, 1 where it had none.
    """
    batch = 1
    for tensor in model.graph.input:
        dims = tensor.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if axis == 0:
                batch = max(batch, dim.dim_value)
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
    return batch


def _constants_to_initialisers(model: ModelWrapper) -> None:
    for node in [n for n in model.graph.node if n.op_type == "Constant"]:
        array = _constant_value(node)
        if array is not None:
            model.graph.node.remove(node)
            model.set_initializer(node.output[0], array)


def _constant_value(node: NodeProto) -> np.ndarray | None:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if "value" in attributes:
        return np.array(numpy_helper.to_array(attributes["value"]))
    for name, dtype in (("value_float", np.float32), ("value_int", np.int64)):
        for key in (name, f"{name}s"):
            if key in attributes:
                return np.array(attributes[key], dtype)
    return None


def _drop_no_ops(model: ModelWrapper) -> None:
    """Remove Identity, inference-time Dropout and sums or the like of one operand."""
    outputs = {tensor.name for tensor in model.graph.output}
    for node in list(model.graph.node):
        alone = node.op_type in ("Sum", "Concat", "Min", "Max") and len(node.input) == 1
        if (alone or node.op_type in ("Identity", "Dropout")) and node.output[0] not in outputs:
            _bypass(model, node, node.input[0])


def _bypass(model: ModelWrapper, node: NodeProto, source: str) -> None:
    for consumer in model.graph.node:
        for index, name in enumerate(consumer.input):
            if name == node.output[0]:
                consumer.input[index] = source
    model.graph.node.remove(node)


_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}


def _drop_neutral_arithmetic(model: ModelWrapper) -> None:
    """Remove an addition of exactly 0 and a multiplication by exactly 1."""
    outputs = {tensor.name for tensor in model.graph.output}
    for node in [n for n in model.graph.node if n.op_type in _NEUTRAL]:
        for index in (1, 0) if node.op_type in ("Add", "Mul") else (1,):
            value, other = model.get_initializer(node.input[index]), node.input[1 - index]
            if value is None or np.any(value != _NEUTRAL[node.op_type]):
                continue
            same = model.get_tensor_shape(other) == model.get_tensor_shape(node.output[0])
            if same and node.output[0] not in outputs:
                _bypass(model, node, other)
                break


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
        values = [model.get_initializer(name) for name in quant.input]
        if any(value is None for value in values):
            continue
        rank = values[0].ndim
        perm = list(node.attribute[0].ints) if node.attribute else list(range(rank))[::-1]
        for name, value in zip(quant.input, values, strict=True):
            if value.size > 1:
                spread = value.reshape([1] * (rank - value.ndim) + list(value.shape))
                model.set_initializer(name, spread.transpose(perm))
        quant.output[0] = node.output[0]
        model.set_tensor_shape(quant.output[0], [values[0].shape[axis] for axis in perm])
        model.graph.node.remove(node)


def _free_batch_in_reshapes(model: ModelWrapper, batch: int) -> None:
    """Reshape to [batch, ...] becomes [0, ...]: the same for one picture, and right for a batch."""
    for node in model.graph.node:
        shape = model.get_initializer(node.input[1]) if node.op_type == "Reshape" else None
        if shape is None or shape.size < 2 or shape[0] not in (1, batch, -1):
            continue
        if (shape[0] == -1 and -1 in shape[1:]) or 0 in shape[1:]:
            continue
        model.set_initializer(node.input[1], np.array([0, *shape[1:]], np.int64))
        for attribute in [a for a in node.attribute if a.name == "allowzero"]:
            node.attribute.remove(attribute)


def _maxima_as_pools_and_clips(model: ModelWrapper) -> None:
    """GlobalMaxPool and ReduceMax of a picture become MaxPool; Max and Min with a number, Clip."""
    for node in model.graph.node:
        shape = model.get_tensor_shape(node.input[0]) if node.input else None
        if node.op_type in ("GlobalMaxPool", "ReduceMax") and shape is not None and len(shape) == 4:
            axes, kept = _mean_axes(model, node)
            if node.op_type == "GlobalMaxPool" or (
                sorted(a % 4 for a in axes or ()) == [2, 3] and kept
            ):
                node.op_type = "MaxPool"
                del node.attribute[:], node.input[1:]
                node.attribute.append(helper.make_attribute("kernel_shape", shape[2:]))
        elif node.op_type in ("Max", "Min") and len(node.input) == 2:
            _as_clip(model, node)


def _as_clip(model: ModelWrapper, node: NodeProto) -> None:
    values = [model.get_initializer(name) for name in node.input]
    (bound,) = [v for v in values if v is not None and v.size == 1][:1] or [None]
    if bound is None or all(v is not None for v in values):
        return
    moving = node.input[values[0] is not None]
    name, lower = f"{node.output[0]}_bound", node.op_type == "Max"
    if model.get_opset_imports().get("", 13) < 11:
        bounds = {"min" if lower else "max": float(bound.item())}
        node.attribute.append(helper.make_attribute(*bounds.popitem()))
        node.input[:] = [moving]
    else:
        model.set_initializer(name, bound.reshape(()))
        node.input[:] = [moving, name] if lower else [moving, "", name]
    node.op_type = "Clip"


def _free_batch_in_resizes(model: ModelWrapper) -> None:
    """Resize to sizes becomes one by scales, which holds for a batch, where these are whole."""
    for node in [n for n in model.graph.node if n.op_type == "Resize" and len(n.input) == 4]:
        sizes, old = model.get_initializer(node.input[3]), model.get_tensor_shape(node.input[0])
        if sizes is None or sizes.size != len(old) or np.any(sizes % old):
            continue
        scales = f"{node.output[0]}_scales"
        model.set_initializer(scales, (sizes // old).astype(np.float32))
        node.input[2:] = [scales]


def _merge_means(model: ModelWrapper) -> None:
    """ReduceMean over one axis and then another becomes one over both."""
    for node in [n for n in model.graph.node if n.op_type == "ReduceMean"]:
        first = model.find_producer(node.input[0])
        if first is None or first.op_type != "ReduceMean":
            continue
        if model.get_tensor_fanout(node.input[0]) != 1 or len(first.input) > 1:
            continue
        axes, keeps = _mean_axes(model, first)
        later, keep = _mean_axes(model, node)
        if axes is None or later is None or keeps != keep:
            continue
        rank = len(model.get_tensor_shape(first.input[0]))
        axes = [a % rank for a in axes]
        left = list(range(rank)) if keeps else [a for a in range(rank) if a not in axes]
        both = sorted({*axes, *(left[a] for a in later)})
        merged = helper.make_node(
            "ReduceMean", first.input[:1], node.output, node.name, axes=both, keepdims=int(keep)
        )
        index = list(model.graph.node).index(first)
        model.graph.node.insert(index, merged)
        for old in (first, node):
            model.graph.node.remove(old)


def _mean_axes(model: ModelWrapper, node: NodeProto) -> tuple[list[int] | None, bool]:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    axes = attributes.get("axes")
    if len(node.input) > 1 and node.input[1]:
        values = model.get_initializer(node.input[1])
        axes = None if values is None else [int(a) for a in values]
    return (None if axes is None else list(axes)), bool(attributes.get("keepdims", 1))


def _name_nodes(model: ModelWrapper) -> None:
    taken: set[str] = set()
    for index, node in enumerate(model.graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{index}"
        taken.add(node.name)
