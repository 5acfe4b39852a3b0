"""An operator as a user would add it: ONNX `Neg` on codes, without a change to the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import NodeProto

from finn_resnet.boards import Resources
from finn_resnet.custom_ops import register_op
from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.elementwise import PARALLEL, PICTURE, ElementwiseOp
from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.registry import generates
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall
from finn_resnet.lowering.interpreter import Interpreter
from finn_resnet.lowering.operators import lowers
from finn_resnet.numerics.ranges import Range
from finn_resnet.parallelism.costs import costs
from finn_resnet.parallelism.stream_task_cost import Picture, stream_cycles
from finn_resnet.transformation.stream_profile import StreamProfile


@register_op
class StreamNeg(ElementwiseOp):
    """The negative of every code."""

    def attributes(self) -> AttributeTypes:
        """The picture and its layout."""
        return {**PICTURE, **PARALLEL}

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact: -(-128) is 128."""
        return [-inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Mirrored."""
        return [Range(-inputs[0].hi, -inputs[0].lo) if inputs[0] is not None else None]


@lowers("Neg")
def lower_neg(interpreter: Interpreter, node: NodeProto) -> None:
    """Codes of the same scale."""
    source = interpreter.codes(node.input[0])
    out = source.named(node.output[0], range=Range(-source.range.hi, -source.range.lo))
    h, w, ch = source.shape
    interpreter.builder.node("StreamNeg", node.name, [source.name], [out.name], h=h, w=w, ch=ch)
    interpreter.describe(out)
    interpreter.tensors[node.output[0]] = out


@costs("StreamNeg")
def neg_cost(op: StreamNeg, picture: Picture, profile: StreamProfile) -> tuple[int, Resources]:
    """A LUT for every bit of a token."""
    lut = 60 + profile.lanes * profile.ch_par * picture.code_bits
    return stream_cycles(picture, profile), Resources(lut=lut)


@generates("StreamNeg", header=Path(__file__).with_name("neg.hpp"))
def neg_code(node: NodeContext) -> NodeCode:
    """One task."""
    names = ("h", "w", "ch", "ch_par", "lanes")
    types = {"in_t": node.edge("x").token_type, "out_t": node.outputs[0].token_type}
    constants = dict(zip(names, node.op.attrs(*names), strict=True))
    struct = config_struct(node.config, ["Negative codes."], constants, types)
    call = f"fr::stream_neg<{node.config}>({node.stream_in()}, {node.stream_out()})"
    return NodeCode(node.name, [struct], tasks=[TaskCall(node.name, call, "StreamNeg", 2)])
