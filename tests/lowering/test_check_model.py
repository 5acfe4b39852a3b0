"""Everything that cannot become hardware is found at once, with reason and remedy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.lowering import check_model
from finn_resnet.transformation import LowerToHardware
from tests.qonnx_models import QUANT_DOMAIN, ModelBuilder, residual_network


def network(change: Callable[[ModelBuilder, str], str]) -> ModelWrapper:
    """Input quantiser, a convolution, whatever ``change`` adds, an output quantiser."""
    net = ModelBuilder(1)
    x = net.relu(net.conv(net.quant("image", -7), 4, 4, 3))
    x = net.quant(change(net, x), -4)
    return net.model(x, [1, 4, 8, 8], [1, 4, 8, 8])


BAD = {
    "zero-point": (lambda net, x: net.quant(x, -5, zero_point=2.5), "zero-point = 2.5"),
    "operator": (lambda net, x: net.node("Erf", [x]), "no hardware form"),
    "bit width": (lambda net, x: net.quant(x, -12, bits=20), "bit width = 20"),
    "product": (lambda net, x: net.node("Mul", [x, x]), "computed at run time"),
    "format": (lambda net, x: net.node("MultiThreshold", [x], domain=QUANT_DOMAIN), "FINN's form"),
    "along the width": (
        lambda net, x: net.node("Mul", [x, net.constant(np.arange(1.0, 9.0))]),
        "another axis than the channels",
    ),
    "wide weights": (
        lambda net, x: net.node(
            "Conv",
            [x, net.quant(net.constant(net.rng.normal(0, 1, (4, 4, 1, 1))), -9, bits=12)],
        ),
        "weight bit width",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_each_unsupported_node_is_found(name: str) -> None:
    change, reason = BAD[name]
    findings = check_model(network(change))
    assert len(findings) == 1
    assert reason in findings[0].reason and findings[0].remedy
    with pytest.raises(UserError) as caught:
        network(change).transform(LowerToHardware())
    assert findings[0].node in str(caught.value) and "\n" not in str(caught.value)


def test_all_findings_come_together() -> None:
    def change(net: ModelBuilder, x: str) -> str:
        left = net.quant(net.node("Erf", [x]), -5)
        right = net.quant(net.node("Mul", [x, x]), -5)
        return net.node("Add", [left, right])

    findings = check_model(network(change))
    assert [f.op for f in findings] == ["Erf", "Mul"]


def test_float_model_is_refused_once() -> None:
    net = ModelBuilder(1)
    weights = net.constant(net.rng.normal(0, 1, (4, 4, 3, 3)))
    x = net.node("Relu", [net.node("Conv", ["image", weights], kernel_shape=[3, 3], pads=[1] * 4)])
    findings = check_model(net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]))
    assert [f.reason for f in findings] == ["it has no Quant node: a float model"]


def test_unquantised_weights_and_inputs_are_named() -> None:
    net = ModelBuilder(1)
    weights = net.constant(net.rng.normal(0, 1, (4, 4, 3, 3)))
    float_conv = net.node(
        "Conv", [net.quant("image", -7), weights], kernel_shape=[3, 3], pads=[1] * 4
    )
    x = net.quant(float_conv, -4)
    findings = check_model(net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]))
    assert "weights have no Quant" in findings[0].reason
    net = ModelBuilder(1)
    net.exponents["image"] = -7
    x = net.quant(net.conv("image", 4, 4, 3), -4)
    findings = check_model(net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]))
    assert "Quant node on the graph input" in findings[0].remedy


def test_an_output_the_host_cannot_compute_is_found() -> None:
    net = ModelBuilder(1)
    moments = [net.constant(np.arange(1.0, 5.0)) for _ in range(4)]
    x = net.node("BatchNormalization", [net.quant("image", -7), *moments])
    findings = check_model(net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]))
    assert [f.op for f in findings] == ["output"]


def test_supported_networks_have_no_findings(shared_models) -> None:
    assert check_model(residual_network()) == []
    names = ("resnet8.onnx", "resnet8_a8w8b16.onnx", "resnet20_a8w8b16.onnx")
    for name in names:
        assert check_model(ModelWrapper(str(shared_models / name))) == []
