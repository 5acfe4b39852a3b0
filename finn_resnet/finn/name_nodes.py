"""NameNodesAfterLayers: our own names back on nodes that FINN has renumbered."""

from __future__ import annotations

from collections import Counter

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation
from qonnx.util.basic import get_by_name

from finn_resnet.finn.plain_node import LAYER_NAME


class NameNodesAfterLayers(Transformation):
    """Name our layers as in our own graphs and reports, all other nodes ``<op type>_<number>``."""

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        numbers: Counter[str] = Counter()
        for node in model.graph.node:
            layer = get_by_name(node.attribute, LAYER_NAME)
            if layer is not None:
                node.name = layer.s.decode()
            else:
                node.name = f"{node.op_type}_{numbers[node.op_type]}"
                numbers[node.op_type] += 1
        return model, False
