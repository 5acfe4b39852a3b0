"""AbsorbAddIntoAccumulator: the residual addition joins the convolution in front of it."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.numerics.requantiser import Requantiser, ShiftStage
from finn_resnet.transformation.derived_tensors import fused_tensors, record_fused
from finn_resnet.transformation.graph_edit import (
    as_op,
    forget_tensor,
    nodes_of,
    only_reader,
    producer_of,
    require_hardware_graph,
    sort_nodes,
)
from finn_resnet.transformation.lookahead import lookahead


class AbsorbForm(Enum):
    """Where the skip value joins the convolution."""

    EXACT = "exact"
    """Where no code changes: in the accumulator without a Quant between, else in the epilogue."""
    ACCUMULATOR = "accumulator"
    """In the accumulator everywhere, as published; a rounding disappears, so codes may change."""

    @classmethod
    def of(cls, setting: bool | str) -> AbsorbForm:
        """The form a configuration asks for; true and false name no form, so the exact one."""
        return cls.EXACT if isinstance(setting, bool) else cls(setting)


class AbsorbAddIntoAccumulator(Transformation):
    """The skip value enters the second convolution's task, so no addition node is left.

    ``form="exact"`` (default): without a Quant between convolution and addition the skip value
    initialises the accumulator, as in the paper; with one, or where the operands have multipliers,
    the addition happens in the convolution's epilogue. Codes never change.

    ``form="accumulator"``: the paper's form everywhere. Where a Quant stood in between its rounding
    disappears, which can change codes; `changed_nodes` then lists those convolutions, and
    the build reports how many codes really change.
    """

    def __init__(self, form: AbsorbForm | str = AbsorbForm.EXACT) -> None:
        super().__init__()
        self.form = AbsorbForm(form)
        self.changed_nodes: list[str] = []

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        for add in nodes_of(model, "StreamAdd"):
            operand = _absorbing_operand(model, add)
            if operand is not None:
                self._absorb(model, add, operand)
        sort_nodes(model)
        return model, False

    def _absorb(self, model: ModelWrapper, add: NodeProto, operand: int) -> None:
        conv = model.find_producer(add.input[operand])
        op, addition = as_op(conv), as_op(add)
        shifts, mults = addition.attrs("shift_a", "shift_b"), addition.attrs("mult_a", "mult_b")
        acc_shift, skip_shift = shifts[operand], shifts[1 - operand]
        before, after = op.requantiser(), addition.requantiser()
        plain = mults == (1, 1)
        merged = None
        if plain and self.form is AbsorbForm.ACCUMULATOR:
            merged = _paper_form(before, after)
        # A Quant that changes no reachable code is a tensor all the same: seen before the sum.
        # An accumulator takes no multiplier: every partial sum would need one.
        if plain and before.is_identity and not fused_tensors(op):
            op.set_nodeattr("skip", "accumulator")
        elif merged is not None:
            op.set_nodeattr("skip", "accumulator")
            skip_shift, after = skip_shift + before.stages[0].shift, merged
            self.changed_nodes.append(conv.name)
        else:
            op.set_nodeattr("skip", "epilogue")
            op.set_nodeattr("pre_requant", before.to_json())
        op.set_nodeattr("acc_shift", acc_shift)
        op.set_nodeattr("skip_shift", skip_shift)
        op.set_nodeattr("acc_mult", mults[operand])
        op.set_nodeattr("skip_mult", mults[1 - operand])
        op.set_nodeattr("requant", after.to_json())
        self._move_records(op, addition, conv.output[0], before, merged is not None)
        tensor = conv.output[0]
        conv.input.append(add.input[1 - operand])
        model.graph.node.remove(add)
        conv.output[0] = add.output[0]
        forget_tensor(model, tensor)

    @staticmethod
    def _move_records(op, addition, tensor: str, before: Requantiser, changes: bool) -> None:
        """What lived in either task now lives in one: before or after the addition."""
        if not changes:
            op.set_nodeattr("pre_fused_tensors", op.get_nodeattr("fused_tensors"))
            record_fused(op, tensor, before, "pre_fused_tensors")
        op.set_nodeattr("fused_tensors", addition.get_nodeattr("fused_tensors"))


def _absorbing_operand(model: ModelWrapper, add: NodeProto) -> int | None:
    """Index of the operand whose convolution takes the addition: the one computed last.

    A convolution whose skip data came later than its windows would hold up its own window buffer.
    """
    candidates, ahead = [], lookahead(model)
    for index, tensor in enumerate(add.input):
        conv = producer_of(model, tensor, "StreamConv")
        if conv is None or list(conv.output).index(tensor) or only_reader(model, tensor) is None:
            continue
        other = add.input[1 - index]
        if ahead[tensor] < ahead[other]:
            continue
        if not as_op(conv).has_skip and not _comes_from(model, other, conv):
            candidates.append((_depth(model, conv), index))
    return max(candidates)[1] if candidates else None


def _comes_from(model: ModelWrapper, tensor: str, node: NodeProto) -> bool:
    """Whether a tensor is computed from what ``node`` gives: its own merged downsample, for one."""
    seen, pending = set(), [tensor]
    while pending:
        producer = model.find_producer(pending.pop())
        if producer is None or producer.name in seen:
            continue
        if producer.name == node.name:
            return True
        seen.add(producer.name)
        pending += producer.input
    return False


def _depth(model: ModelWrapper, node: NodeProto) -> int:
    """Longest path of convolutions up to ``node``."""
    depths: dict[str, int] = {}
    for other in model.graph.node:
        longest = max((depths.get(name, 0) for name in other.input), default=0)
        for name in other.output:
            depths[name] = longest + (other.op_type == "StreamConv")
    return depths[node.output[0]]


def _paper_form(before: Requantiser, after: Requantiser) -> Requantiser | None:
    """Requantiser of the sum at accumulator scale, None where the paper's form does not exist.

    It needs a single shift before the addition and a shift right after it.
    """
    if len(before.stages) != 1 or not after.stages:
        return None
    single, first = before.stages[0], after.stages[0]
    if not isinstance(single, ShiftStage) or single.shift < 0 or not isinstance(first, ShiftStage):
        return None
    shifted = replace(first, shift=first.shift + single.shift)
    return Requantiser((shifted, *after.stages[1:]))
