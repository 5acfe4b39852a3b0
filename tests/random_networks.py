"""Random quantised residual networks, drawn by hypothesis, for property tests.

Every feature the importer accepts can come up: widths 2 to 8 bits, mixed signs and scales, narrow
ranges, rounding modes, strides, kernels, biases on other grids, batch norms, per-channel and free
scales, additions with and without a Quant in front, forks at the input and at the output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.modelwrapper import ModelWrapper

QUANT_DOMAIN = "qonnx.custom_op.general"
ROUNDINGS = ("ROUND", "ROUND", "ROUND", "FLOOR", "CEIL", "HALF_UP", "HALF_DOWN", "UP", "DOWN")


@dataclass(frozen=True)
class Features:
    """Which optional features a network may use."""

    batch_norm: bool = False
    free_scales: bool = False
    off_grid_bias: bool = False
    roundings: bool = False


@dataclass
class _Activation:
    """A quantised tensor of the network under construction."""

    name: str
    scale: float
    channels: int
    size: int


class RandomNetwork:
    """Appends randomly chosen layers; the random choices come from one numpy generator."""

    def __init__(self, rng: np.random.Generator, features: Features) -> None:
        self.rng = rng
        self.features = features
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *options: object) -> object:
        return options[int(self.rng.integers(len(options)))]

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: object) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def scale(self, low: int, high: int) -> float:
        """A power of two, or with free scales sometimes any number."""
        power = 2.0 ** int(self.rng.integers(low, high + 1))
        if self.features.free_scales and self.chance(0.5):
            return float(np.float32(power * self.rng.uniform(0.6, 1.4)))
        return power

    def quant(self, x: str, scale: object, bits: int, signed: bool, narrow: bool = False) -> str:
        rounding = self.pick(*ROUNDINGS) if self.features.roundings else "ROUND"
        return self.node(
            "Quant", [x, self.constant(scale), self.constant(0.0), self.constant(float(bits))],
            domain=QUANT_DOMAIN, signed=int(signed), narrow=int(narrow), rounding_mode=rounding,
        )  # fmt: skip

    def activation(self, x: str, channels: int, size: int, signed: bool) -> _Activation:
        scale = self.scale(-6, -3)
        bits = int(self.rng.integers(2, 9))
        return _Activation(self.quant(x, scale, bits, signed), scale, channels, size)

    def conv(self, x: _Activation, och: int, kernel: int, stride: int) -> str:
        """Convolution with random weights, [bias], [batch norm]; float result."""
        bits = int(self.rng.integers(2, 9))
        exponent = int(self.rng.integers(-7, -3))
        scale: object = 2.0**exponent
        if self.features.free_scales and self.chance(0.5):
            factors = self.rng.uniform(0.5, 1.5, (och, 1, 1, 1))
            scale = (2.0**exponent * factors).astype(np.float32)
        shape = (och, x.channels, kernel, kernel)
        weights = self.rng.normal(0, 2.0 ** (exponent + bits - 2), shape)
        inputs = [x.name, self.quant(self.constant(weights), scale, bits, True, self.chance(0.5))]
        if self.chance(0.8):
            inputs.append(self._bias(x, och, exponent))
        out = self.node(
            "Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4
        )
        if self.features.batch_norm and self.chance(0.7):
            out = self._batch_norm(out, och)
        return out

    def _bias(self, x: _Activation, och: int, exponent: int) -> str:
        values = self.constant(self.rng.normal(0, 0.5, och))
        if self.features.free_scales and self.chance(0.3):
            return values
        shift = int(self.rng.integers(-2, 3)) if self.features.off_grid_bias else 0
        return self.quant(values, 2.0 ** (exponent + shift) * x.scale, 16, True)

    def _batch_norm(self, x: str, channels: int) -> str:
        gamma = self.rng.uniform(0.3, 1.6, channels) * self.rng.choice([1, 1, 1, -1], channels)
        moments = [
            gamma,
            self.rng.normal(0, 0.3, channels),
            self.rng.normal(0, 0.3, channels),
            self.rng.uniform(0.3, 2.0, channels),
        ]
        return self.node("BatchNormalization", [x, *map(self.constant, moments)], epsilon=1e-5)

    def relu_quant(self, x: str, channels: int, size: int) -> _Activation:
        """Relu and Quant, sometimes the double quantisation exporters write around a Relu."""
        if self.chance(0.3):
            x = self.activation(x, channels, size, signed=True).name
        return self.activation(self.node("Relu", [x]), channels, size, signed=self.chance(0.2))

    def block(self, x: _Activation) -> _Activation:
        """Residual block with a random mixture of the ways networks write one."""
        stride = int(self.pick(1, 2)) if x.size >= 4 else 1
        och = x.channels if stride == 1 and self.chance(0.6) else int(self.rng.integers(2, 7))
        size = -(-x.size // stride)
        first, skip = x, x
        if self.chance(0.4):
            first = self.activation(x.name, x.channels, x.size, signed=True)
        inner = self.relu_quant(self.conv(first, och, int(self.pick(1, 3, 3)), stride), och, size)
        main = self.conv(inner, och, 3, 1)
        needs_quant = self.features.batch_norm or self.features.free_scales or self.chance(0.6)
        if needs_quant or self.features.off_grid_bias:
            main = self._power_of_two_quant(main)
        if (x.channels, 1) != (och, stride):
            source = x
            if self.chance(0.4):
                source = self.activation(x.name, x.channels, x.size, signed=True)
            down = self.conv(source, och, 1, stride)
            skip_name = self._power_of_two_quant(down)
        else:
            skip_name = self._power_of_two_quant(x.name) if self._is_free(x) else skip.name
        return self.relu_quant(self.node("Add", [main, skip_name]), och, size)

    def _is_free(self, x: _Activation) -> bool:
        return not float(np.log2(x.scale)).is_integer()

    def _power_of_two_quant(self, x: str) -> str:
        exponent, bits = int(self.rng.integers(-6, -2)), int(self.rng.integers(3, 9))
        return self.quant(x, 2.0**exponent, bits, True)

    def head(self, x: _Activation, classes: int) -> tuple[str, list[int]]:
        """Pool and classifier; returns output tensor and shape."""
        kind = self.pick("GlobalAveragePool", "ReduceMean", "MaxPool", "none")
        pooled, flat = x, x.channels * x.size * x.size
        if kind == "GlobalAveragePool":
            pooled = self.activation(self.node(kind, [x.name]), x.channels, 1, signed=False)
        elif kind == "ReduceMean":
            mean = self.node(kind, [x.name], axes=[2, 3], keepdims=1)
            pooled = self.activation(mean, x.channels, 1, signed=False)
        elif kind == "MaxPool":
            largest = self.node(kind, [x.name], kernel_shape=[x.size] * 2)
            pooled = _Activation(largest, x.scale, x.channels, 1)
        if kind != "none":
            flat = x.channels
        features = self.node("Flatten", [pooled.name], axis=1)
        exponent, bits = int(self.rng.integers(-7, -3)), int(self.rng.integers(3, 9))
        shape = (classes, flat)
        weights = self.constant(self.rng.normal(0, 2.0 ** (exponent + bits - 2), shape))
        inputs = [features, self.quant(weights, 2.0**exponent, bits, True)]
        if self.chance(0.7):
            bias = self.constant(self.rng.normal(0, 0.5, classes))
            inputs.append(self.quant(bias, 2.0**exponent * pooled.scale, 16, True))
        out = self.node("Gemm", inputs, transB=1)
        if self.features.free_scales or self.chance(0.7):
            out = self.quant(out, self.scale(-4, -1), 8, True)
        return out, [1, classes]


def random_network(seed: int, features: Features = Features()) -> ModelWrapper:
    """A network of one to three blocks drawn from ``seed``."""
    net = RandomNetwork(np.random.default_rng(seed), features)
    channels, size = int(net.pick(1, 2, 3)), int(net.pick(4, 5, 6, 8))
    x = net.activation("image", channels, size, signed=net.chance(0.7))
    outputs: list[tuple[str, list[int]]] = []
    if net.chance(0.7):
        och = int(net.rng.integers(2, 6))
        x = net.relu_quant(net.conv(x, och, 3, 1), och, size)
    if net.chance(0.3) and x.size >= 4:
        pooled = net.node("MaxPool", [x.name], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        x = _Activation(pooled, x.scale, x.channels, -(-x.size // 2))
    for _ in range(int(net.rng.integers(1, 4))):
        x = net.block(x)
        if net.chance(0.2) and not outputs:
            outputs.append((x.name, [1, x.channels, x.size, x.size]))
    outputs.insert(0, net.head(x, int(net.rng.integers(2, 6))))
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, channels, size, size])
    graph = helper.make_graph(net.nodes, "random", [image], infos, net.initializers)
    opsets = [helper.make_opsetid("", 12), helper.make_opsetid(QUANT_DOMAIN, 1)]
    return ModelWrapper(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def random_pictures(model: ModelWrapper, seed: int, count: int) -> np.ndarray:
    """Pictures [count, C, H, W]: the first saturates high, the second low, the rest are random."""
    shape = [count, *model.get_tensor_shape(model.graph.input[0].name)[1:]]
    pictures = np.random.default_rng(seed).normal(0, 0.7, shape).astype(np.float32)
    pictures[0], pictures[1 % count] = 1e3, -1e3
    return pictures


seeds = st.integers(0, 10**6)
"""Strategy for `random_network` seeds: shrinking a seed means little, so tests print it."""

feature_sets = st.sampled_from(
    [
        Features(),
        Features(roundings=True),
        Features(off_grid_bias=True),
        Features(batch_norm=True),
        Features(free_scales=True),
        Features(batch_norm=True, free_scales=True, roundings=True, off_grid_bias=True),
    ]
)
