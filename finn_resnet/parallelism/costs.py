"""What operators cost: one registered entry for each part an operator can play in the search.

An operator of a user's own joins by the same decorator, from any module::

    @costs("StreamNeg")
    def neg_cost(op, picture, profile):
        return stream_cycles(picture, profile), Resources(lut=...)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finn_resnet.custom_ops.base import HardwareOp, SearchRole
from finn_resnet.errors import UserError

COSTS: dict[tuple[str, SearchRole], Any] = {}
"""By op type and role; see `costs` for what an entry is."""


def costs(op_type: str, role: SearchRole = SearchRole.FOLLOWER) -> Callable[[Any], Any]:
    """Register the decorated object as the cost of ``op_type`` in ``role``.

    A follower has a function ``(op, picture, profile) -> (cycles per frame, Resources)`` of the
    picture it reads and the layout it takes; an adapter one of ``(picture, source, sink)``; a
    served op one of ``(shape, factors)``, used by its engine; an engine a class with the members of
    `engine_model.EngineModel`.
    """

    def register(entry: Any) -> Any:
        COSTS[op_type, role] = entry
        return entry

    return register


def cost_of(op: HardwareOp) -> Any:
    """The registered cost of a node in the role it plays.

    Raises:
        UserError: none is registered.
    """
    op_type = op.onnx_node.op_type
    if (op_type, op.role) not in COSTS:
        raise UserError(
            f"operator {op_type} (node {op.onnx_node.name}) has no cost as {op.role.value}; import "
            f'the module that registers one (`@costs("{op_type}")`)'
        )
    return COSTS[op_type, op.role]
