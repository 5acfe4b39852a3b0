"""Small quantised residual networks as QONNX models, for tests that need a real model file."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.modelwrapper import ModelWrapper

QUANT_DOMAIN = "qonnx.custom_op.general"


class ModelBuilder:
    """Appends layers to a graph; every method returns the name of its output tensor."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.exponents: dict[str, int] = {}

    def constant(self, value: np.ndarray | float) -> str:
        name = f"c{len(self.initializers)}"
        array = np.asarray(value, dtype=np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: object) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def quant(
        self,
        x: str,
        exponent: int,
        *,
        bits: int = 8,
        signed: bool = True,
        narrow: bool = False,
        zero_point: float = 0,
    ) -> str:
        """Quant node with scale 2**exponent."""
        inputs = [x, *map(self.constant, (2.0**exponent, zero_point, bits))]
        name = self.node(
            "Quant",
            inputs,
            domain=QUANT_DOMAIN,
            signed=int(signed),
            narrow=int(narrow),
            rounding_mode="ROUND",
        )
        self.exponents[name] = exponent
        return name

    def conv(
        self, x: str, ich: int, och: int, kernel: int, stride: int = 1, **extra: object
    ) -> str:
        """Convolution with int8 weights and int16 bias, padded to keep the size at stride 1."""
        group = extra.get("group", 1)
        weights = self.constant(self.rng.normal(0, 0.3, (och, ich // group, kernel, kernel)))
        inputs = [x, self.quant(weights, -6)]
        bias = self.constant(self.rng.normal(0, 0.2, och))
        inputs.append(self.quant(bias, self.exponents[x] - 6, bits=16))
        attributes = {
            "kernel_shape": [kernel] * 2,
            "strides": [stride] * 2,
            "pads": [kernel // 2] * 4,
            **extra,
        }
        return self.node("Conv", inputs, **attributes)

    def relu(self, x: str) -> str:
        return self.quant(self.node("Relu", [x]), -5, signed=False)

    def block(self, x: str, ich: int, och: int, stride: int) -> str:
        """Residual block; with a 1x1 downsample where the shape changes."""
        inner = self.relu(self.conv(x, ich, och, 3, stride))
        main = self.quant(self.conv(inner, och, och, 3), -5)
        skip = x
        if (ich, stride) != (och, 1):
            skip = self.quant(self.conv(x, ich, och, 1, stride), -5)
        return self.relu(self.node("Add", [main, skip]))

    def model(self, output: str, input_shape: list[int], output_shape: list[int]) -> ModelWrapper:
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(QUANT_DOMAIN, 1)]
        return ModelWrapper(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def residual_network(seed: int = 1, size: int = 8) -> ModelWrapper:
    """Stem, a block without and a block with downsample, average pool, 1x1 classifier."""
    net = ModelBuilder(seed)
    x = net.quant("image", -7)
    x = net.relu(net.conv(x, 3, 4, 3))
    x = net.block(x, 4, 4, 1)
    x = net.block(x, 4, 6, 2)
    x = net.quant(net.node("GlobalAveragePool", [x]), -5, signed=False)
    x = net.quant(net.conv(x, 6, 5, 1), -4)
    return net.model(x, [1, 3, size, size], [1, 5, 1, 1])
