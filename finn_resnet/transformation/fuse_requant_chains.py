"""FuseRequantChains: requantisers join the task in front of them wherever that is proven exact."""

from __future__ import annotations

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.numerics.requantiser import Requantiser
from finn_resnet.numerics.step_function import fuse
from finn_resnet.transformation.code_ranges import total_range
from finn_resnet.transformation.derived_tensors import (
    fused_tensors,
    original_tensor,
    record_derived,
    record_fused,
)
from finn_resnet.transformation.graph_edit import (
    as_op,
    code_range,
    forget_tensor,
    nodes_of,
    only_reader,
    readers,
    remove_node,
    require_hardware_graph,
    sort_nodes,
)


class FuseRequantChains(Transformation):
    """Relu and Quant chains become the epilogue of the convolution, pool or addition before them.

    A chain shrinks to a single stage only where the threshold proof holds over the whole reachable
    range; otherwise it keeps its roundings. Equal requantisers on every branch of a fork move in
    front of it. Codes never change.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        changed = True
        while changed:
            changed = _hoist_over_forks(model)
            for node in nodes_of(model, "StreamRequant"):
                changed |= _fuse_into_producer(model, node) or _drop_identity(model, node)
        sort_nodes(model)
        return model, False


def _attributes_of(producer: NodeProto, tensor: str) -> tuple[str, str, int]:
    """Requantiser attribute, fused-tensor attribute and index of an output."""
    index = list(producer.output).index(tensor)
    prefix = "ds_" if index else ""
    return f"{prefix}requant", f"{prefix}fused_tensors", index


def _fuse_into_producer(model: ModelWrapper, node: NodeProto) -> bool:
    tensor = node.input[0]
    producer = model.find_producer(tensor)
    if producer is None or only_reader(model, tensor) is None:
        return False
    attribute, record, index = _attributes_of(producer, tensor)
    host, op = as_op(producer), as_op(node)
    if attribute not in host.requant_attributes() or host.is_host:
        return False
    before = host.requantiser(attribute)
    for inner, map_ in fused_tensors(op).items():
        record_fused(host, inner, before.then(map_), record)
    record_fused(host, tensor, before, record)
    chain = fuse(before.then(op.requantiser()), total_range(model, producer, index))
    host.set_nodeattr(attribute, chain.to_json())
    model.graph.node.remove(node)
    producer.output[index] = node.output[0]
    forget_tensor(model, tensor)
    return True


def _drop_identity(model: ModelWrapper, node: NodeProto) -> bool:
    """A requantiser that changes no reachable code is only another name for its input."""
    op, source = as_op(node), node.input[0]
    if not fuse(op.requantiser(), code_range(model, source)).is_identity or fused_tensors(op):
        return False
    for reader in readers(model, node.output[0]):
        reader.rewire(source)
    record_derived(model, node.output[0], original_tensor(model, source), Requantiser())
    remove_node(model, node)
    return True


def _hoist_over_forks(model: ModelWrapper) -> bool:
    changed = False
    for fork in nodes_of(model, "StreamFork"):
        branches = [only_reader(model, copy) for copy in fork.output]
        if any(b is None or b.node.op_type != "StreamRequant" for b in branches):
            continue
        maps = {as_op(b.node).requantiser().to_json() for b in branches}
        if len(maps) == 1:
            _hoist(model, fork, [b.node for b in branches])
            changed = True
    return changed


def _hoist(model: ModelWrapper, fork: NodeProto, branches: list[NodeProto]) -> None:
    """fork -> n equal requantisers becomes one requantiser -> fork."""
    kept, source = branches[0], fork.input[0]
    for index, branch in enumerate(branches):
        result, copy = branch.output[0], fork.output[index]
        new_copy = f"{kept.output[0]}_copy{index}"
        for reader in readers(model, result):
            reader.rewire(new_copy)
        model.set_tensor_shape(new_copy, model.get_tensor_shape(result))
        model.set_tensor_datatype(new_copy, model.get_tensor_datatype(result))
        fork.output[index] = new_copy
        forget_tensor(model, copy)
        if branch is not kept:
            record_derived(model, result, kept.output[0], Requantiser())
            model.graph.node.remove(branch)
            forget_tensor(model, result)
    kept.input[0] = source
    fork.input[0] = kept.output[0]
