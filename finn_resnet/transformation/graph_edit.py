"""Small graph edits that name a reader by (node, input index), never by tensor alone.

Residual graphs fork everywhere, so rewiring "the consumer" of a tensor is a bug in waiting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.custom_ops.base import DOMAIN, HardwareOp
from finn_resnet.custom_ops.stream_conv import ConvOp
from finn_resnet.errors import UserError
from finn_resnet.numerics.ranges import Range

Op = TypeVar("Op", bound=HardwareOp)


def require_hardware_graph(model: ModelWrapper, transformation: object) -> None:
    """Refuse a graph that was not lowered: there is nothing the transformation could act on.

    Raises:
        UserError: no node is a hardware node.
    """
    if not any(node.domain == DOMAIN for node in model.graph.node):
        raise UserError(
            f"{type(transformation).__name__} acts on hardware nodes and this graph has none; "
            "apply LowerToHardware first"
        )


@dataclass(frozen=True)
class Reader:
    """One input of one node."""

    node: NodeProto
    index: int

    def rewire(self, tensor: str) -> None:
        """Make this input read ``tensor``."""
        self.node.input[self.index] = tensor


def readers(model: ModelWrapper, tensor: str) -> list[Reader]:
    """Every (node, input index) that reads ``tensor``, in graph order."""
    return [
        Reader(node, index)
        for node in model.graph.node
        for index, name in enumerate(node.input)
        if name == tensor
    ]


def only_reader(model: ModelWrapper, tensor: str) -> Reader | None:
    """The reader of ``tensor`` if it has exactly one, else None."""
    found = readers(model, tensor)
    return found[0] if len(found) == 1 else None


def nodes_of(model: ModelWrapper, *op_types: str) -> list[NodeProto]:
    """Nodes of the given types, in graph order."""
    return [node for node in model.graph.node if node.op_type in op_types]


def as_op(node: NodeProto) -> HardwareOp:
    """Custom op instance of a hardware node."""
    return getCustomOp(node)


def hardware_ops(model: ModelWrapper) -> list[HardwareOp]:
    """Custom ops of the nodes that run in the fabric, in graph order."""
    ops = [as_op(node) for node in model.graph.node if node.domain == DOMAIN]
    return [op for op in ops if not op.is_host]


def convolutions(model: ModelWrapper) -> list[ConvOp]:
    """Custom ops of all convolutions, grouped ones too, in graph order."""
    return [op for op in hardware_ops(model) if isinstance(op, ConvOp)]


def producer_of(model: ModelWrapper, tensor: str, op_type: str) -> NodeProto | None:
    """Producer of ``tensor`` if it is of that type."""
    node = model.find_producer(tensor)
    return node if node is not None and node.op_type == op_type else None


def code_range(model: ModelWrapper, tensor: str) -> Range:
    """Range of the codes of a hardware tensor, from its annotation."""
    datatype = model.get_tensor_datatype(tensor)
    return Range(int(datatype.min()), int(datatype.max()))


def forget_tensor(model: ModelWrapper, tensor: str) -> None:
    """Drop what the graph says about a tensor that is gone."""
    for listed in (model.graph.value_info, model.graph.quantization_annotation):
        for entry in list(listed):
            if tensor in (getattr(entry, "name", None), getattr(entry, "tensor_name", None)):
                listed.remove(entry)


def remove_node(model: ModelWrapper, node: NodeProto) -> None:
    """Remove a node and what is known of its outputs that nobody reads any more."""
    model.graph.node.remove(node)
    produced = {name for other in model.graph.node for name in other.output}
    for name in node.output:
        if name not in produced and not readers(model, name):
            forget_tensor(model, name)


def drop_fork_copy(model: ModelWrapper, fork: NodeProto, copy: str) -> None:
    """Remove one output of a StreamFork; a fork left with a single output disappears."""
    kept = [name for name in fork.output if name != copy]
    forget_tensor(model, copy)
    if len(kept) == 1:
        for reader in readers(model, kept[0]):
            reader.rewire(fork.input[0])
        fork.output[:] = []
        model.graph.node.remove(fork)
        forget_tensor(model, kept[0])
        return
    fork.output[:] = kept
    as_op(fork).set_nodeattr("copies", len(kept))


def sort_nodes(model: ModelWrapper) -> None:
    """Topological order, stable: a node moves only behind what it reads."""
    produced = {name for node in model.graph.node for name in node.output}
    ready = {t.name for t in model.graph.input} | {i.name for i in model.graph.initializer}
    pending, ordered = list(model.graph.node), []
    while pending:
        rest = []
        for node in pending:
            if all(name in ready or name not in produced for name in node.input):
                ordered.append(node)
                ready.update(node.output)
            else:
                rest.append(node)
        if len(rest) == len(pending):
            raise ValueError(f"the graph has a cycle through {rest[0].name}")
        pending = rest
    copies = [NodeProto.FromString(node.SerializeToString()) for node in ordered]
    del model.graph.node[:]
    model.graph.node.extend(copies)
