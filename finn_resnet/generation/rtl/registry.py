"""Which function makes the RTL of an operator; an operator without one is refused by name.

An operator of a user's own joins by the same decorator, from any module::

    @generates_rtl("StreamNeg")
    def neg_rtl(node: NodeContext) -> RtlNode: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from finn_resnet.generation.rtl.schedule import Steps, WindowSteps
from finn_resnet.generation.task_code import NodeContext

HELD_DEPTH = 16
"""Tokens of a stream that a module's own output FIFO holds; a FIFO follows for more."""
ANY_DEPTH = 1 << 62
"""A module that holds its stream's tokens whatever the depth."""


@dataclass(frozen=True)
class RtlNode:
    """A node as an instance of a module.

    Attributes:
        module: its name; one of the library's, or that of ``text``.
        parameters: integers or SystemVerilog text.
        inputs: port -> position of the node's input.
        outputs: port -> positions of the node's outputs, the lanes of the first lowest.
        holds: output port -> depth of a stream up to which the module holds its tokens itself, so
            that no FIFO follows.
        text: source of a module that is this node's own.
        files: contents of further files by name: memories.
        axi: port of the accelerator that the node serves, "" for none.
        schedule: the steps of a frame; None for a memory that has a word in every clock.
        pipeline: output port -> (clocks from a step to its token, tokens the module has room for
            besides those of the stream it holds).
    """

    module: str
    parameters: Mapping[str, int | str]
    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, ...]]
    holds: Mapping[str, int] = field(default_factory=dict)
    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    axi: str = ""
    schedule: Steps | WindowSteps | None = None
    pipeline: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def held_depth(depth: int) -> int:
    """Tokens of a stream that its module's output FIFO holds besides those on their way."""
    return depth if depth <= HELD_DEPTH else 0


Generate = Callable[[NodeContext], RtlNode]
Refuse = Callable[[NodeContext], list[str]]

GENERATORS: dict[str, tuple[Generate, Refuse]] = {}
"""By op type: the generator, and what of a node it refuses."""


def _nothing(_: NodeContext) -> list[str]:
    return []


def generates_rtl(op_type: str, refuses: Refuse = _nothing) -> Callable[[Generate], Generate]:
    """Register the decorated function as the RTL generator of ``op_type``.

    ``refuses`` gives a reason, with attribute, value and remedy, for everything of a node that the
    generator cannot make.
    """

    def register(function: Generate) -> Generate:
        GENERATORS[op_type] = (function, refuses)
        return function

    return register


def refused(node: NodeContext) -> list[str]:
    """Why a node has no RTL, one line each; empty if it has."""
    op_type = node.op.onnx_node.op_type
    if op_type not in GENERATORS:
        return [f"node {node.name!r}: operator {op_type} has no RTL generator; use backend = hls"]
    return [f"node {node.name!r}: {reason}" for reason in GENERATORS[op_type][1](node)]


def rtl_node(node: NodeContext) -> RtlNode:
    """The RTL of a node that is not refused."""
    return GENERATORS[node.op.onnx_node.op_type][0](node)
