"""What people's tools export: each kind lowers to the reference's codes, or is refused by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.lowering import check_model
from finn_resnet.transformation import LowerToHardware
from tests.mixed_networks import (
    MixedNetwork,
    cxx_mismatches,
    differing_codes,
    mixed_network,
    pictures_for,
)
from tests.qonnx_models import QUANT_DOMAIN

SHAPE = [1, 4, 6, 6]


class Net(MixedNetwork):
    """Layers with chosen parameters instead of random ones."""

    def q(self, x: str, scale: object, *, bits: float = 8, signed: int = 1, zero: float = 0) -> str:
        parameters = [self.constant(scale), self.constant(zero), self.constant(bits)]
        return self.node(
            "Quant", [x, *parameters], domain=QUANT_DOMAIN, signed=signed, narrow=0,
            rounding_mode="ROUND",
        )  # fmt: skip

    def c(self, x: str, channels: int = 4, scale: object = 0.01, **attributes: object) -> str:
        ich = attributes.pop("ich", 4)
        group = int(attributes.get("group", 1))
        weights = self.q(
            self.constant(self.rng.normal(0, 0.4, (channels, ich // group, 3, 3))), scale
        )
        inputs = [x, weights]
        if "bias" in attributes:
            inputs.append(self.constant(attributes.pop("bias")))
        return self.node("Conv", inputs, **{"pads": [1] * 4, **attributes})

    def qdq(self, x: str, scale: float, zero: int, dtype: type = np.int8) -> str:
        pair = [self.constant(scale), self.constant(zero, dtype)]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, *pair]), *pair])

    def model(self, output: str, shape: list[int], kind: int = TensorProto.FLOAT, **image):
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "net",
            [info("image", image.get("element", TensorProto.FLOAT), image.get("size", SHAPE))],
            [info(output, kind, shape)], self.initializers,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(QUANT_DOMAIN, 1)]
        return ModelWrapper(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def residual(net: Net, left: float, right: float, out: float) -> str:
    x = net.q("image", right)
    main = net.q(net.c(x), left)
    return net.q(net.node("Relu", [net.node("Add", [main, x])]), out, signed=0)


def three_branches(net: Net) -> str:
    x = net.q("image", 0.031)
    branches = [net.q(net.c(x), scale) for scale in (0.017, 0.043)]
    return net.q(net.node("Sum", [x, *branches]), 0.061)


def zero_points(net: Net) -> str:
    x = net.qdq("image", 0.021, -128)
    y = net.qdq(net.node("Relu", [net.c(x, bias=[0.1, -0.2, 0.3, 0.05])]), 0.037, 7, np.uint8)
    return net.qdq(net.node("Add", [y, net.qdq(net.c(y), 0.029, -5)]), 0.05, 3)


def shared_output(net: Net) -> str:
    """One QuantizeLinear, two DequantizeLinear, as TFLite's converter writes it."""
    x = net.qdq("image", 0.02, 3)
    pair = [net.constant(0.03), net.constant(5, np.int8)]
    codes = net.node("QuantizeLinear", [net.c(x), *pair])
    both = [net.node("DequantizeLinear", [codes, *pair]) for _ in range(2)]
    return net.qdq(net.node("Add", both), 0.055, -9)


def integer_weights(net: Net) -> str:
    x = net.qdq("image", 0.02, 0)
    codes = net.rng.integers(-127, 128, (4, 4, 3, 3))
    scale = net.constant(net.rng.uniform(0.01, 0.02, 4))
    zero = net.constant(np.zeros(4), np.int8)
    weights = net.node("DequantizeLinear", [net.constant(codes, np.int8), scale, zero], axis=0)
    bias = [net.constant(net.rng.integers(-900, 900, 4), np.int32), net.constant(0.0003)]
    inputs = [x, weights, net.node("DequantizeLinear", [*bias])]
    return net.qdq(net.node("Conv", inputs, pads=[1] * 4), 0.09, 11)


def per_channel_input(net: Net) -> str:
    scale = np.array([0.25, 0.5, 0.25, 1.0]).reshape(1, 4, 1, 1)
    x = net.q(net.node("Relu", [net.c(net.q("image", 0.0625))]), scale, bits=6, signed=0)
    weights = net.q(net.constant(net.rng.normal(0, 0.4, (4, 4, 1, 1))), 0.0625, bits=4)
    return net.q(net.node("Conv", [x, weights]), 0.1)


def option_a(net: Net) -> str:
    x = net.q("image", 0.03, signed=0)
    ends = [net.constant(v, np.int64) for v in ([0, 0], [99, 99], [2, 3], [2, 2])]
    skip = net.node("Slice", [x, *ends])
    skip = net.node("Pad", [skip, net.constant([0, 2, 0, 0, 0, 2, 0, 0], np.int64)])
    main = net.q(net.c(x, 8, strides=[2, 2]), 0.05)
    return net.q(net.node("Add", [main, skip]), 0.06)


def trunc(net: Net) -> str:
    x = net.q("image", 0.0625, bits=4, signed=0)
    mean = net.node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
    widths = [net.constant(v) for v in (0.0625, 0.0, 6.0, 4.0)]
    out = net.node("Mul", [mean, net.constant(4.0)])
    return net.node("Trunc", [out, *widths], domain=QUANT_DOMAIN, rounding_mode="FLOOR")


def bipolar(net: Net) -> str:
    x = net.node("BipolarQuant", ["image", net.constant(0.5)], domain=QUANT_DOMAIN)
    values = net.constant(net.rng.normal(0, 1, (4, 4, 3, 3)))
    weights = net.node("BipolarQuant", [values, net.constant(0.25)], domain=QUANT_DOMAIN)
    return net.q(net.node("Conv", [x, weights], pads=[0] * 4), 0.3, bits=1)


def pool(op: str, **attributes: object) -> Callable[[Net], str]:
    return lambda net: net.q(net.node(op, [net.q("image", 0.03, signed=0)], **attributes), 0.04)


def wide_kernel(net: Net) -> str:
    x = net.q("image", 0.03)
    x = net.node("MaxPool", [x], kernel_shape=[2, 3], strides=[3, 3])
    weights = net.q(net.constant(net.rng.normal(0, 0.4, (4, 4, 7, 7))), 0.01)
    return net.q(net.node("Conv", [x, weights], pads=[3] * 4), 0.1)


def preprocessing(net: Net) -> str:
    mean, std = (net.constant(np.reshape(v, (1, 4, 1, 1))) for v in ([1, 2, 3, 4], [2, 3, 4, 5]))
    x = net.node("Div", [net.node("Sub", ["image", mean]), std])
    return net.q(net.c(net.q(x, 0.03)), 0.1)


def resize(net: Net, x: str, *, sizes: object = None, scales: object = None, **modes: str) -> str:
    given = [x, "", "" if scales is None else net.constant(scales)]
    if sizes is not None:
        given.append(net.constant(sizes, np.int64))
    return net.node("Resize", given, **{"mode": "nearest", **modes})


def enlarged(net: Net) -> str:
    """By sizes with the defaults, behind arithmetic; by scales as PyTorch's Upsample exports it."""
    x = resize(net, net.node("Relu", [net.c(net.q("image", 0.03))]), sizes=[1, 4, 12, 18])
    x = net.q(net.node("MaxPool", [net.q(x, 0.05)], kernel_shape=[2, 3], strides=[2, 3]), 0.06)
    modes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return net.q(net.c(resize(net, x, scales=[1, 1, 2, 1], **modes)), 0.1)


def curves(net: Net) -> str:
    """Activations without an exact form, each before a Quant; one output of the host behind it."""
    x = net.q("image", 0.03)
    for op in ("Elu", "Softplus", "Selu", "Softsign"):
        x = net.q(net.node(op, [net.c(x)]), 0.02)
    bounds = [net.constant(-0.5), net.constant(0.75)]
    x = net.node("Min", [net.node("Max", [net.node("Sum", [x]), bounds[0]]), bounds[1]])
    x = net.node("GlobalMaxPool", [net.q(x, 0.011)])
    return net.node("Sigmoid", [net.node("Add", [x, net.constant(0.37)])])


def batch_norm_with_zero_points(net: Net) -> str:
    """A batch norm that stays a node, in a QDQ file; behind it a maximum over float values."""
    moments = ([1.0, 2, -0.5, 1], [0.1, 0.2, 0.3, 0.4], [0, 0.1, 0.2, 0.3], [0.5, 1, 2, 0.3])
    x = net.c(net.qdq("image", 0.02, -3))
    x = net.node("BatchNormalization", [x, *map(net.constant, moments)], epsilon=1e-3)
    x = net.qdq(net.node("Relu", [x]), 0.04, -128)
    x = net.node("Relu", [net.c(x, bias=[0.1, 0.2, 0.3, -0.4])])
    x = net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return net.q(x, np.full(3, 0.1))


KINDS: dict[str, tuple[Callable[[Net], str], list[int]]] = {
    "equal float scales": (lambda net: residual(net, 0.03, 0.03, 0.04), SHAPE),
    "whole ratio": (lambda net: residual(net, 0.03, 0.06, 0.045), SHAPE),
    "unrelated scales": (lambda net: residual(net, 0.0317, 0.0211, 0.0457), SHAPE),
    "three branches": (three_branches, SHAPE),
    "zero-points": (zero_points, SHAPE),
    "shared QuantizeLinear": (shared_output, SHAPE),
    "integer weights": (integer_weights, SHAPE),
    "per-channel input": (per_channel_input, SHAPE),
    "option A": (option_a, [1, 8, 3, 3]),
    "Trunc": (trunc, [1, 4, 3, 3]),
    "bipolar": (bipolar, [1, 4, 4, 4]),
    "input is no power of two": (lambda net: net.q(net.c(net.q("image", 1 / 255)), 0.1), SHAPE),
    "depthwise": (lambda net: net.q(net.c(net.q("image", 0.03), group=4), 0.1), SHAPE),
    "dilation": (
        lambda net: net.q(net.c(net.q("image", 0.03), dilations=[2, 2], pads=[2] * 4), 0.1), SHAPE,
    ),
    "ceil mode": (pool("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), [1, 4, 3, 3]),
    "pads not counted": (
        pool("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), [1, 4, 3, 3],
    ),
    "kernel wider than the picture": (wide_kernel, [1, 4, 2, 2]),
    "preprocessing": (preprocessing, SHAPE),
    "batch norm with zero-points": (batch_norm_with_zero_points, [1, 4, 3, 3]),
    "curves": (curves, [1, 4, 1, 1]),
    "nearest Resize": (enlarged, [1, 4, 12, 6]),
    "float output bias": (
        lambda net: net.c(net.q("image", 0.03), bias=[0.1, -0.2, 0.3, 0.05]), SHAPE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kind_has_the_reference_codes(kind: str) -> None:
    build, shape = KINDS[kind]
    net = Net(1)
    model = net.model(build(net), shape)
    assert check_model(model) == []
    pictures = pictures_for(model, 2)
    assert differing_codes(model, pictures) == {}
    assert differing_codes(model, pictures, optimised=True) == {}


def test_a_wrong_bias_is_seen() -> None:
    """The comparison above can fail."""
    net = Net(1)
    model = net.model(residual(net, 0.0317, 0.0211, 0.0457), SHAPE)
    pictures = pictures_for(model, 2)
    original = LowerToHardware.apply

    def spoiled(self, model):
        model, again = original(self, model)
        (name,) = [n.input[2] for n in model.graph.node if n.op_type == "StreamConv"]
        model.set_initializer(name, model.get_initializer(name) + 40)
        return model, again

    LowerToHardware.apply = spoiled
    try:
        assert differing_codes(model, pictures)
    finally:
        LowerToHardware.apply = original


def test_unrelated_scales_take_one_addition_with_short_multipliers() -> None:
    net = Net(1)
    model = net.model(residual(net, 0.0317, 0.0211, 0.0457), SHAPE)
    (add,) = model.transform(LowerToHardware()).get_nodes_by_op_type("StreamAdd")
    attributes = {a.name: helper.get_attribute_value(a) for a in add.attribute}
    assert max(attributes["mult_a"], attributes["mult_b"]) < 1 << 16
    assert b"affine" in attributes["requant"]


def test_integer_nhwc_input_and_softmax_stay_on_the_host() -> None:
    net = Net(1)
    pair = [net.constant(0.02), net.constant(-3, np.int8)]
    x = net.node("Transpose", [net.node("DequantizeLinear", ["image", *pair])], perm=[0, 3, 1, 2])
    x = net.qdq(net.c(x), 0.1, 4)
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x])])
    x = net.node("Softmax", [net.qdq(x, 0.05, 1)])
    out = net.node("QuantizeLinear", [x, net.constant(1 / 256), net.constant(-128, np.int8)])
    model = net.model(out, [1, 4], TensorProto.INT8, element=TensorProto.INT8, size=[1, 6, 6, 4])
    pictures = np.random.default_rng(0).integers(-128, 128, (3, 6, 6, 4)).astype(np.int8)
    assert differing_codes(model, pictures) == {}


REFUSED = {
    "along the width": lambda net, x: net.node("Add", [x, net.constant([1.0, 2, 3, 4, 5, 6])]),
    "scale along the kernel": lambda net, x: net.c(x, scale=[0.01, 0.02, 0.01]),
    "interpolation": lambda net, x: resize(net, x, scales=[1, 1, 2, 2], mode="linear"),
    "falls and rises": lambda net, x: net.node("PRelu", [x, net.constant([-0.25])]),
    "a fraction": lambda net, x: resize(net, x, scales=[1, 1, 1.5, 1.5]),
    "rounded up": lambda net, x: resize(
        net,
        x,
        scales=[1, 1, 2, 2],
        coordinate_transformation_mode="asymmetric",
        nearest_mode="ceil",
    ),
    "QLinearConv": lambda net, x: net.node("QLinearConv", [x, *[net.constant(1.0)] * 7]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_node_reason_and_remedy(kind: str) -> None:
    net = Net(1)
    bad = REFUSED[kind](net, net.q("image", 0.03))
    model = net.model(net.q(bad, 0.1), SHAPE)
    findings = check_model(model)
    assert len(findings) == 1 and findings[0].node in bad
    assert findings[0].reason and findings[0].remedy


def test_shared_shapes_and_explicit_constants_are_legal() -> None:
    net = Net(1)
    x = net.q("image", 0.03)
    value = numpy_helper.from_array(np.float32(2), "value")
    net.nodes.append(helper.make_node("Constant", [], ["two"], name="two", value=value))
    model = net.model(net.q(net.node("Mul", [x, "two"]), 0.1), SHAPE)
    assert differing_codes(model, pictures_for(model, 2)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_mixtures(first: int) -> None:
    for seed in range(first, first + 50):
        model = mixed_network(seed)
        pictures = pictures_for(model, seed)
        assert differing_codes(model, pictures, optimised=seed % 4 == 0) == {}, seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [301, 302])
def test_random_mixtures_in_cxx(seed: int, cxx: object, tmp_path) -> None:
    assert cxx_mismatches(mixed_network(seed, most=6), tmp_path) == 0
