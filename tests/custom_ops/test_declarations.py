"""Every operator says all that the package asks of one."""

from __future__ import annotations

import pytest
from onnx import NodeProto

from finn_resnet.custom_ops import custom_op
from finn_resnet.custom_ops.base import HardwareOp, SearchRole
from finn_resnet.generation.registry import GENERATORS, headers_of
from finn_resnet.parallelism.costs import COSTS

FABRIC = {name: op for name, op in custom_op.items() if op.role is not SearchRole.HOST}


def missing(name: str, op: type[HardwareOp]) -> list[str]:
    """What of a declaration is not there."""
    found = []
    if op.attributes is HardwareOp.attributes or op.compute is HardwareOp.compute:
        found.append("attributes and exact execution")
    if (
        op.input_streams is HardwareOp.input_streams
        or op.output_streams is HardwareOp.output_streams
    ):
        found.append("streams")
    if not {kind for kind, _ in COSTS if kind == name}:
        found.append("cost")
    if name not in GENERATORS or not all(path.is_file() for path in headers_of([name])):
        found.append("generator")
    return found


@pytest.mark.parametrize("name", FABRIC)
def test_an_operator_is_complete(name):
    assert missing(name, FABRIC[name]) == []


@pytest.mark.parametrize("name", FABRIC)
def test_its_declarations_name_attributes_it_has(name):
    op = FABRIC[name](NodeProto())
    known = op.get_nodeattr_types()
    unrolled = {} if isinstance(FABRIC[name].__dict__.get("unrolled"), property) else op.unrolled
    named = {*op.extents, *unrolled, *unrolled.values(), *op.factors.values()}
    assert named <= set(known)


def test_an_incomplete_operator_is_noticed():
    class StreamHalf(HardwareOp):
        """No streams, no cost, no code."""

    assert missing("StreamHalf", StreamHalf) == [
        "attributes and exact execution",
        "streams",
        "cost",
        "generator",
    ]


def test_finn_has_a_layer_for_every_operator():
    layers = pytest.importorskip("finn_resnet.finn.layers", reason="finn-plus is not installed")
    assert layers.layer_ops() == set(FABRIC)
