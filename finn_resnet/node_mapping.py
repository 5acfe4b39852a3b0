"""Which hardware tasks each node of a quantised model becomes, for `finn-resnet check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

# The lowering names the tensors inside a layer after the layer's own output.
_SUFFIXES = (
    "_window",
    "_weights",
    "_product_window",
    "_product_weights",
    "_product",
    "",
    "_codes",
)


@dataclass(frozen=True)
class NodeMapping:
    """`node` of operator `op` becomes the `tasks`, none where it only relabels codes."""

    node: str
    op: str
    tasks: tuple[str, ...]


def map_nodes(model: ModelWrapper) -> list[NodeMapping]:
    """Map every node that computes on the picture, in graph order.

    Nodes that only shape constants (weights, scales) are left out.

    Raises:
        UserError: the model cannot become hardware; `check_model` lists every reason.
    """
    from finn_resnet.transformation.lower_to_hardware import LowerToHardware

    hardware = model.transform(LowerToHardware())
    producers = {name: node.op_type for node in hardware.graph.node for name in node.output}
    constant = {entry.name for entry in model.graph.initializer}
    mappings = []
    for node in model.graph.node:
        if all(name in constant or not name for name in node.input):
            constant.update(node.output)
            continue
        names = [node.output[0] + suffix for suffix in _SUFFIXES]
        tasks = tuple(producers[name] for name in names if name in producers)
        mappings.append(NodeMapping(node.name, node.op_type, tasks))
    return mappings
