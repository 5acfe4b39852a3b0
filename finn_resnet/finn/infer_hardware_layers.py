"""InferHardwareLayers: hardware nodes of ours become layers of FINN."""

from __future__ import annotations

from typing import Any

from onnx import NodeProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp
from qonnx.transformation.base import Transformation

from finn_resnet.boards import Board
from finn_resnet.custom_ops import DOMAIN
from finn_resnet.finn.layers import LAYER_DOMAIN, layer_ops, register
from finn_resnet.finn.plain_node import LAYER_NAME, streams_first
from finn_resnet.parallelism import LayerEstimate, estimate

_BOUNDARY_DEPTH = 32
"""FINN wants a FIFO at both ends of an accelerator; one of this depth is a shift register."""


class InferHardwareLayers(Transformation):
    """Turn every hardware node into a FINN layer that carries the cost model's figures.

    Run it when unroll factors, width adapters and stream depths are final: cycles, resources and
    FIFO depths are taken as they are now.

    Args:
        board: the target.
        clock_mhz: accelerator clock in MHz, the board's if None.
    """

    def __init__(self, board: Board, clock_mhz: float | None = None) -> None:
        super().__init__()
        self._board = board
        self._clock_mhz = clock_mhz

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        register()
        layers = estimate(model, self._board, self._clock_mhz).layers
        costs = {layer.name: layer for layer in layers}
        for node in model.graph.node:
            if node.domain == DOMAIN and node.op_type in layer_ops():
                node.CopyFrom(_layer(model, node, costs[node.name]))
        model.set_opset_import(LAYER_DOMAIN, 1)
        return model, False


def _layer(model: ModelWrapper, node: NodeProto, cost: LayerEstimate) -> NodeProto:
    op = getCustomOp(node)
    inputs = [node.input[index] for index in streams_first(op)]
    layer = helper.make_node(
        node.op_type,
        inputs,
        node.output,
        name=node.name,
        domain=LAYER_DOMAIN,
        backend="fpgadataflow",
        **{LAYER_NAME: node.name},
        input_dtypes=_datatypes(model, inputs),
        output_dtypes=_datatypes(model, node.output),
        inFIFODepths=[_BOUNDARY_DEPTH if node.op_type == "InputDMA" else 2] * len(inputs),
        outFIFODepths=[_BOUNDARY_DEPTH] if node.op_type == "OutputDMA" else op.depths(),
        **_figures(cost),
    )
    layer.attribute.extend(node.attribute)
    return layer


def _datatypes(model: ModelWrapper, tensors: Any) -> list[str]:
    return [model.get_tensor_datatype(name).name for name in tensors]


def _figures(cost: LayerEstimate) -> dict[str, int]:
    return {
        "exp_cycles": cost.cycles,
        "est_dsp": cost.dsp,
        "est_lut": cost.lut,
        "est_ff": cost.ff,
        "est_bram18": round(2 * cost.bram36),
        "est_uram": cost.uram,
    }
