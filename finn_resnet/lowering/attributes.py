"""Attributes of ONNX nodes."""

from __future__ import annotations

from typing import Any

from onnx import NodeProto, helper


def attributes(node: NodeProto) -> dict[str, Any]:
    """Attributes of a node as Python values, of the types that its operator says."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}
