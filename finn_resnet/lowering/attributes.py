"""Attributes of ONNX nodes."""

from __future__ import annotations

from onnx import NodeProto, helper


def attributes(node: NodeProto) -> dict[str, object]:
    """Attributes of a node as Python values."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}
