"""What hangs on one output of a StreamFork: [requantiser] -> window buffer -> convolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.transformation.derived_tensors import record_derived
from finn_resnet.transformation.graph_edit import (
    as_op,
    forget_tensor,
    only_reader,
    remove_node,
)


@dataclass(frozen=True)
class Branch:
    """One branch of a fork; fields are None where the pattern does not hold.

    ``copy`` is the fork's output; ``requant``, ``window`` and ``conv`` are nodes.
    """

    fork: NodeProto
    copy: str
    requant: NodeProto | None
    window: NodeProto | None
    conv: NodeProto | None

    @property
    def requant_json(self) -> str:
        """Requantiser between fork and window buffer ("" when there is none)."""
        return as_op(self.requant).get_nodeattr("requant") if self.requant is not None else ""

    def absorb_requant(self, model: ModelWrapper) -> None:
        """Let the convolution requantise its taps, so that the window buffer holds the raw tensor.

        The padding code maps to itself: others are no branch of this pattern.
        """
        if self.requant is None:
            return
        op = as_op(self.conv)
        op.set_nodeattr("in_requant", self.requant_json)
        result = self.requant.output[0]
        self.window.input[0] = self.copy
        map_ = as_op(self.requant).requantiser()
        record_derived(model, result, self.fork.input[0], map_)
        raw = model.get_tensor_datatype(self.copy)
        model.set_tensor_datatype(self.window.output[0], raw)
        remove_node(model, self.requant)

    def remove(self, model: ModelWrapper) -> None:
        """Remove the branch's nodes (not the fork's output, nor parameter tasks)."""
        if self.requant is not None:
            map_ = as_op(self.requant).requantiser()
            record_derived(model, self.requant.output[0], self.fork.input[0], map_)
        for node in (self.conv, self.window, self.requant):
            if node is not None:
                model.graph.node.remove(node)
        for name in (*self.window.output, *(self.requant.output if self.requant else ())):
            forget_tensor(model, name)


def branches_of(model: ModelWrapper, fork: NodeProto) -> list[Branch]:
    """All branches of a fork, in the order of its outputs."""
    return [_branch(model, fork, copy) for copy in fork.output]


def _branch(model: ModelWrapper, fork: NodeProto, copy: str) -> Branch:
    requant = window = conv = None
    reader = only_reader(model, copy)
    node = reader.node if reader else None
    if node is not None and node.op_type == "StreamRequant":
        requant = node
        reader = only_reader(model, node.output[0])
        node = reader.node if reader else None
    if node is not None and node.op_type == "WindowBuffer" and len(node.output) == 1:
        if requant is not None and not _keeps_padding(requant, node):
            return Branch(fork, copy, None, None, None)
        window = node
        reader = only_reader(model, node.output[0])
        if reader and reader.node.op_type == "StreamConv":
            conv = reader.node
    return Branch(fork, copy, requant, window, conv)


def _keeps_padding(requant: NodeProto, window: NodeProto) -> bool:
    """Whether the code that pads the requantised picture is what itself maps to.

    A map is proven on the codes its input can have, and those of a tensor that is 1 everywhere do
    not hold 0.
    """
    map_, pad = as_op(requant).requantiser(), as_op(window).get_nodeattr("pad_value")
    return bool(np.all(map_(np.full((1, map_.channels), pad)) == pad))
