"""MergeBatchNorm: batch norms behind convolutions disappear from the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from onnx import NodeProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation
from qonnx.transformation.general import RemoveUnusedTensors

from finn_resnet.custom_ops.base import DOMAIN
from finn_resnet.importing.quantiser import is_quant, read_quantiser
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.operators import interpret
from finn_resnet.lowering.tensors import FloatChain
from finn_resnet.numerics.requantiser import Requantiser
from finn_resnet.transformation.graph_edit import only_reader, readers


@dataclass(frozen=True)
class MergedBatchNorm:
    """What one merge did; the last three fields are 0 in exact form."""

    batch_norm: str
    convolution: str
    changed_weight_codes: int = 0
    weights: int = 0
    largest_bias_error: float = 0.0


class MergeBatchNorm(Transformation):
    """Merge every Conv -> BatchNormalization of a QONNX graph.

    ``form="exact"`` (default) turns batch norm, Relu and the Quant that follows into one
    per-channel integer map taken from the reference's own arithmetic (`ChannelRequant`): same
    codes, no float left. It needs a Quant behind the batch norm; where there is none the graph
    stays as it is.

    ``form="requantise"`` multiplies the batch norm into the weights and bias, as the paper does,
    and quantises them again with power-of-two scales (int8 weights, int16 bias). Codes change;
    `merged` says how many weight codes moved.
    """

    def __init__(self, form: Literal["exact", "requantise"] = "exact") -> None:
        super().__init__()
        if form not in ("exact", "requantise"):
            raise ValueError(f"form {form!r} is neither 'exact' nor 'requantise'")
        self.form = form
        self.merged: list[MergedBatchNorm] = []

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        if all(node.op_type != "BatchNormalization" for node in model.graph.node):
            return model, False
        model = model.transform(TidyQonnx())
        if self.form == "exact":
            self._merge_exactly(model)
        else:
            for node in [n for n in model.graph.node if n.op_type == "BatchNormalization"]:
                conv = _convolution_before(model, node)
                if conv is not None:
                    self.merged.append(_merge_into_weights(model, conv, node))
        return model.transform(RemoveUnusedTensors()), False

    def _merge_exactly(self, model: ModelWrapper) -> None:
        interpreter = interpret(model)
        for quant_name, (chain, map_) in interpreter.chains.items():
            quant = next(n for n in model.graph.node if n.name == quant_name)
            nodes = _nodes_up_to_conv(model, quant)
            norms = [n for n in nodes if n.op_type == "BatchNormalization"]
            # A chain that starts inside the convolution, where its bias lies between two steps of
            # the accumulator, stays: the lowering fuses it as it stands.
            outside = any(node.input[0] == chain.source.name for node in nodes[:-1])
            quantiser = read_quantiser(model, quant)
            single = quantiser.scale.size == quantiser.zero.size == 1
            if norms and outside and single and nodes[-1].op_type == "Conv":
                _replace_chain(model, nodes, chain, map_)
                self.merged.append(MergedBatchNorm(norms[0].name, nodes[-1].name))


def _convolution_before(model: ModelWrapper, norm: NodeProto) -> NodeProto | None:
    conv = model.find_producer(norm.input[0])
    alone = only_reader(model, norm.input[0]) is not None
    return conv if conv is not None and conv.op_type == "Conv" and alone else None


def _nodes_up_to_conv(model: ModelWrapper, quant: NodeProto) -> list[NodeProto]:
    """Quant and what lies before it, back to the first node that is no element-wise arithmetic.

    Stops (returning what it has) at a tensor someone else reads as well.
    """
    nodes = [quant]
    while True:
        tensor = nodes[-1].input[0]
        producer = model.find_producer(tensor)
        if producer is None or only_reader(model, tensor) is None:
            return nodes
        nodes.append(producer)
        if producer.op_type not in ("BatchNormalization", "Relu", "Add", "Sub", "Mul", "Div"):
            return nodes


def _replace_chain(
    model: ModelWrapper, nodes: list[NodeProto], chain: FloatChain, map_: Requantiser
) -> None:
    quant, conv = nodes[0], nodes[-1]
    names = [f"{quant.output[0]}_in_scale", f"{quant.output[0]}_out_scale"]
    scale = np.array([float(s) for s in chain.source.scale])
    model.set_initializer(names[0], scale)
    quantiser = read_quantiser(model, quant)
    model.set_initializer(names[1], np.array([float(quantiser.scale)]))
    merged = helper.make_node(
        "ChannelRequant",
        [conv.output[0], *names],
        [quant.output[0]],
        name=f"{quant.name}_requant",
        domain=DOMAIN,
        requant=map_.to_json(),
        zero_point=int(quantiser.zero),
        shape=model.get_tensor_shape(conv.output[0]),
    )
    index = list(model.graph.node).index(quant)
    model.graph.node.insert(index, merged)
    for node in nodes[:-1]:
        model.graph.node.remove(node)
    model.set_opset_import(DOMAIN, 1)


def _merge_into_weights(model: ModelWrapper, conv: NodeProto, norm: NodeProto) -> MergedBatchNorm:
    gamma, beta, mean, variance = (
        model.get_initializer(n).astype(np.float64) for n in norm.input[1:5]
    )
    factor = gamma / np.sqrt(variance + attributes(norm).get("epsilon", 1e-5))
    quant = model.find_producer(conv.input[1])
    before = read_quantiser(model, quant)
    old = before.codes(model.get_initializer(quant.input[0]))
    merged = old * before.scale * factor.reshape(-1, 1, 1, 1)
    exponent = _exponent_for(np.abs(merged).max(), before.bits)
    model.set_initializer(quant.input[0], merged.astype(np.float32))
    model.set_initializer(quant.input[1], np.array(2.0**exponent, np.float32))
    bias = _bias_values(model, conv)
    shifted = (bias - mean) * factor + beta
    error = _set_bias(model, conv, quant, shifted, 2.0**exponent)
    for reader in readers(model, norm.output[0]):
        reader.rewire(conv.output[0])
    outputs = [t for t in model.graph.output if t.name == norm.output[0]]
    model.graph.node.remove(norm)
    if outputs:
        conv.output[0] = norm.output[0]
    new = read_quantiser(model, quant).codes(merged)
    return MergedBatchNorm(norm.name, conv.name, int((new != old).sum()), old.size, error)


def _exponent_for(largest: float, bits: int) -> int:
    """Smallest power-of-two scale that holds ``largest`` in a narrow signed code."""
    return int(np.ceil(np.log2(max(largest, 2.0**-60) / (2 ** (bits - 1) - 1))))


def _bias_values(model: ModelWrapper, conv: NodeProto) -> np.ndarray:
    if len(conv.input) < 3:
        return np.zeros(model.get_tensor_shape(conv.output[0])[1])
    values = model.get_initializer(conv.input[2])
    if values is not None:
        return values.astype(np.float64)
    quant = model.find_producer(conv.input[2])
    quantiser = read_quantiser(model, quant)
    return quantiser.codes(model.get_initializer(quant.input[0])) * quantiser.scale


def _set_bias(
    model: ModelWrapper, conv: NodeProto, weight_quant: NodeProto, bias: np.ndarray, scale: float
) -> float:
    """Give the convolution an int16 bias at the product of the input and weight scales.

    Returns the largest error of a bias value.
    """
    producer = model.find_producer(conv.input[0])
    while producer is not None and not is_quant(producer):
        producer = model.find_producer(producer.input[0])
    step = scale * (float(read_quantiser(model, producer).scale) if producer is not None else 1.0)
    names = [f"{conv.output[0]}_merged_bias{part}" for part in ("", "_scale", "_zero", "_bits")]
    model.set_initializer(names[0], bias.astype(np.float32))
    for name, value in zip(names[1:], (step, 0.0, 16.0), strict=True):
        model.set_initializer(name, np.array(value, np.float32))
    result = f"{names[0]}_quantised"
    made = helper.make_node(
        "Quant", names, [result], name=f"{conv.name}_bias_quant", domain=weight_quant.domain,
        signed=1, narrow=0, rounding_mode="ROUND",
    )  # fmt: skip
    model.graph.node.insert(list(model.graph.node).index(conv), made)
    model.set_tensor_shape(result, list(bias.shape))
    conv.input[:] = [*conv.input[:2], result]
    codes = np.clip(np.rint(bias / step), -(2**15), 2**15 - 1)
    return float(np.abs(codes * step - bias).max())
