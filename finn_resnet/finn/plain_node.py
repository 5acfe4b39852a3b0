"""Between a hardware node of ours and its FINN counterpart.

The FINN node has the same attributes and tensors. Its inputs are in another order, since FINN's
IP stitching takes input ``i`` for the ``i``-th stream: streams first, constants last.
"""

from __future__ import annotations

from onnx import NodeProto, helper
from qonnx.custom_op.registry import getCustomOp
from qonnx.util.basic import get_by_name

from finn_resnet.custom_ops import DOMAIN
from finn_resnet.custom_ops.base import HardwareOp

HLS_SUFFIX = "_hls"

LAYER_NAME = "layer"
"""Attribute of a FINN node: its name in our own graphs and reports. FINN renumbers nodes."""


def streams_first(op: HardwareOp) -> list[int]:
    """Input indices of a hardware node in the order in which its FINN node has them."""
    streams = op.input_streams()
    return sorted(range(len(streams)), key=lambda index: streams[index] is None)


def plain_op(node: NodeProto) -> HardwareOp:
    """The hardware op behind a FINN node, under the name it has in our own graphs."""
    kind = node.op_type.removesuffix(HLS_SUFFIX)
    layer = get_by_name(node.attribute, LAYER_NAME)
    name = node.name if layer is None else layer.s.decode()
    plain = helper.make_node(kind, node.input, node.output, name=name, domain=DOMAIN)
    op = getCustomOp(plain)
    own = op.get_nodeattr_types()
    plain.attribute.extend(entry for entry in node.attribute if entry.name in own)
    for position, index in enumerate(streams_first(op)):
        plain.input[index] = node.input[position]
    return op
