"""Which hardware tasks each node of a quantised model becomes, for `finn-resnet check`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper


@dataclass(frozen=True)
class NodeMapping:
    """`node` of operator `op` becomes the `tasks`, none where it only relabels codes."""

    node: str
    op: str
    tasks: tuple[str, ...]


def map_nodes(model: ModelWrapper, hardware: ModelWrapper) -> list[NodeMapping]:
    """Map every node that computes on the picture, in graph order.

    Nodes that only shape constants (weights, scales) are left out.

    Args:
        model: the tidied model.
        hardware: what `LowerToHardware` made of it, which names every task's original node.
    """
    tasks: dict[str, list[str]] = defaultdict(list)
    for node in hardware.graph.node:
        tasks[node.doc_string].append(node.op_type)
    constant = {entry.name for entry in model.graph.initializer}
    mappings = []
    for node in model.graph.node:
        if all(name in constant or not name for name in node.input):
            constant.update(node.output)
        else:
            mappings.append(NodeMapping(node.name, node.op_type, tuple(tasks[node.name])))
    return mappings
