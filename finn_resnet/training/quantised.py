"""The quantised network: integer weights, activations and biases, as brevitas trains them.

The Add of a block sums the second convolution's accumulator, unrounded, and the skip's integer
codes; both have power-of-two scales, so the sum is exact and the accelerator can start its
accumulator with the skip value. One ReLU and one quantiser follow. Only a downsampling skip has
a quantiser of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from brevitas.nn import QuantConv2d, QuantIdentity, QuantLinear, QuantReLU
from torch import Tensor, nn

from finn_resnet.training.calibration import (
    activation_exponents,
    folded_parameters,
    observation_points,
    weight_exponents,
)
from finn_resnet.training.network import ResNet
from finn_resnet.training.network_shape import NetworkShape
from finn_resnet.training.quantisers import BiasQuantiser, activation_quantiser, weight_quantiser

EDGE_BITS = 8  # the image, the first and the last layer keep 8 bits in every variant


@dataclass(frozen=True)
class QuantisationPlan:
    """Widths and power-of-two exponents of all quantisers, by module name."""

    weight_bits: dict[str, int]
    activation_bits: dict[str, int]
    weight_exponents: dict[str, int]
    activation_exponents: dict[str, int]

    def weight(self, name: str) -> type:
        """Weight quantiser class of the module `name`."""
        return weight_quantiser(self.weight_exponents[name], self.weight_bits[name])

    def activation(self, name: str, signed: bool = False) -> type:
        """Activation quantiser class of the module `name`."""
        exponent, bits = self.activation_exponents[name], self.activation_bits[name]
        return activation_quantiser(exponent, bits, signed)


def make_plan(
    network: ResNet, batches: Iterable[Tensor], weight_bits: int, activation_bits: int
) -> QuantisationPlan:
    """Calibrates a trained float network on batches of images [N, 3, H, W] in [0, 1]."""
    weights = {
        name: EDGE_BITS if name in ("stem", "classifier") else weight_bits
        for name in folded_parameters(network)
    }
    activations = {"input": EDGE_BITS} | {
        name: EDGE_BITS if name in ("pool", "classifier") else activation_bits
        for name in observation_points(network)
    }
    exponents = activation_exponents(network, batches, activations)
    return QuantisationPlan(
        weights, activations, weight_exponents(network, weights, exponents), exponents
    )


class QuantisedBlock(nn.Module):
    """Residual block on quantised tensors; see the module's text for the sum."""

    def __init__(self, name: str, ich: int, och: int, stride: int, plan: QuantisationPlan) -> None:
        """`name`: that of the block in the plan; the rest as in `network.Block`."""
        super().__init__()
        self.first = _convolution(f"{name}.first", ich, och, 3, stride, plan)
        self.first_relu = _relu(f"{name}.first_relu", plan)
        self.second = _convolution(f"{name}.second", och, och, 3, 1, plan)
        self.downsample = self.downsample_quant = None
        if stride != 1 or ich != och:
            skip = f"{name}.downsample"
            self.downsample = _convolution(skip, ich, och, 1, stride, plan)
            self.downsample_quant = QuantIdentity(
                act_quant=plan.activation(skip, signed=True), return_quant_tensor=True
            )
        self.relu = _relu(f"{name}.relu", plan)

    def forward(self, x: Tensor) -> Tensor:
        """[N, ich, ih, iw] -> [N, och, oh, ow], quantised."""
        skip = x if self.downsample is None else self.downsample_quant(self.downsample(x))
        accumulator = self.second(self.first_relu(self.first(x)))
        return self.relu(_value(accumulator) + _value(skip))


class QuantisedResNet(nn.Module):
    """Quantised ResNet: images [N, 3, 32, 32] in [0, 1] -> logits [N, classes].

    `round_logits` adds an int8 quantiser after the classifier; without it the logits are the
    classifier's accumulators.
    """

    def __init__(
        self, shape: NetworkShape, classes: int, plan: QuantisationPlan, round_logits: bool = False
    ) -> None:
        """Random parameters; `quantise` takes over those of a float network."""
        super().__init__()
        self.shape, self.classes, self.plan = shape, classes, plan
        self.input = QuantIdentity(act_quant=plan.activation("input"), return_quant_tensor=True)
        self.stem = _convolution("stem", 3, shape.width, 3, 1, plan)
        self.relu = _relu("relu", plan)
        self.blocks = nn.Sequential(
            *(
                QuantisedBlock(f"blocks.{index}", *block, plan)
                for index, block in enumerate(shape.block_shapes())
            )
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.pool_quant = QuantIdentity(act_quant=plan.activation("pool"), return_quant_tensor=True)
        self.classifier = QuantLinear(
            shape.channels[-1],
            classes,
            bias=True,
            weight_quant=plan.weight("classifier"),
            bias_quant=BiasQuantiser,
        )
        self.logits_quant = (
            QuantIdentity(act_quant=plan.activation("classifier", signed=True))
            if round_logits
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        x = self.blocks(self.relu(self.stem(self.input(x))))
        x = self.pool_quant(self.pool(_value(x)).flatten(1))
        logits = _value(self.classifier(x))
        return logits if self.logits_quant is None else _value(self.logits_quant(logits))


def quantise(network: ResNet, plan: QuantisationPlan) -> QuantisedResNet:
    """Quantised network with the float network's parameters, batch norms merged."""
    quantised = QuantisedResNet(network.shape, network.classes, plan)
    with torch.no_grad():
        for name, (weight, bias) in folded_parameters(network).items():
            module = quantised.get_submodule(name)
            module.weight.copy_(weight)
            module.bias.copy_(bias)
    return quantised


def _convolution(
    name: str, ich: int, och: int, kernel: int, stride: int, plan: QuantisationPlan
) -> QuantConv2d:
    return QuantConv2d(
        ich,
        och,
        kernel,
        stride=stride,
        padding=kernel // 2,
        bias=True,
        weight_quant=plan.weight(name),
        bias_quant=BiasQuantiser,
    )


def _relu(name: str, plan: QuantisationPlan) -> QuantReLU:
    return QuantReLU(act_quant=plan.activation(name), return_quant_tensor=True)


def _value(x: Tensor) -> Tensor:
    """The plain tensor within a brevitas QuantTensor (or `x` itself)."""
    return getattr(x, "value", x)
