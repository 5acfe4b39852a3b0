"""Chooses the power-of-two scale of every weight and activation tensor of a trained network."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from finn_resnet.training.network import ConvNorm, ResNet

INPUT_EXPONENT = -8  # pixels are in [0, 1]: uint8 codes of scale 2^-8
SAMPLES_PER_TENSOR = 200_000
CANDIDATE_EXPONENTS = 6
LARGEST_BIAS_CODE = 2**15 - 1


def code_range(bits: int, signed: bool, narrow: bool = False) -> tuple[int, int]:
    """Smallest and largest integer code of a quantiser."""
    if not signed:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)) + int(narrow), 2 ** (bits - 1) - 1


def best_exponent(values: Tensor, low: int, high: int) -> int:
    """The exponent e whose codes round(x / 2^e), clipped to [low, high], lose least (MSE)."""
    largest = values.abs().max().clamp(min=1e-8)
    # The finest scale that clips nothing, and finer ones, which trade clipping for resolution.
    covering = int(torch.ceil(torch.log2(largest / high)))
    return min(
        range(covering - CANDIDATE_EXPONENTS + 1, covering + 1),
        key=lambda exponent: float(_rounding_error(values, 2.0**exponent, low, high)),
    )


def _rounding_error(values: Tensor, scale: float, low: int, high: int) -> Tensor:
    rounded = torch.round(values / scale).clamp(low, high) * scale
    return (values - rounded).square().mean()


def fold_norm(pair: ConvNorm) -> tuple[Tensor, Tensor]:
    """Weight [och, ich, fh, fw] and bias [och] of a convolution with its batch norm merged."""
    norm = pair.norm
    factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    weight = pair.conv.weight * factor[:, None, None, None]
    return weight.detach(), (norm.bias - norm.running_mean * factor).detach()


def folded_parameters(network: ResNet) -> dict[str, tuple[Tensor, Tensor]]:
    """Merged weight and bias of every convolution and of the classifier, by module name."""
    merged = {
        name: fold_norm(module)
        for name, module in network.named_modules()
        if isinstance(module, ConvNorm)
    }
    classifier = network.classifier
    merged["classifier"] = (classifier.weight.detach(), classifier.bias.detach())
    return merged


def observation_points(network: ResNet) -> dict[str, bool]:
    """Module names whose outputs the quantised network rounds -> whether they are signed."""
    points = {}
    for name, module in network.named_modules():
        if isinstance(module, (nn.ReLU, nn.AdaptiveAvgPool2d)):
            points[name] = False
        elif name.endswith("downsample") and isinstance(module, ConvNorm):
            points[name] = True
    points["classifier"] = True
    return points


@torch.no_grad()
def observe(network: ResNet, batches: Iterable[Tensor]) -> dict[str, Tensor]:
    """Samples of every observation point over batches of images [N, 3, H, W] in [0, 1]."""
    batches = list(batches)
    per_batch = SAMPLES_PER_TENSOR // max(1, len(batches))
    samples: dict[str, list[Tensor]] = {name: [] for name in observation_points(network)}
    modules = dict(network.named_modules())
    hooks = [
        modules[name].register_forward_hook(_sampler(found, per_batch))
        for name, found in samples.items()
    ]
    network.eval()
    for batch in batches:
        network(batch)
    for hook in hooks:
        hook.remove()
    return {name: torch.cat(found) for name, found in samples.items()}


def _sampler(found: list[Tensor], count: int) -> Callable[[nn.Module, object, Tensor], None]:
    def hook(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        flat = output.flatten()
        # An odd step visits every channel, row and column alike.
        found.append(flat[:: max(1, len(flat) // count) | 1].float())

    return hook


def activation_exponents(
    network: ResNet, batches: Iterable[Tensor], bits: dict[str, int]
) -> dict[str, int]:
    """Exponent of every activation quantiser by name; `bits` gives each one's width."""
    signed = observation_points(network)
    exponents = {
        name: best_exponent(values, *code_range(bits[name], signed[name]))
        for name, values in observe(network, batches).items()
    }
    return {"input": INPUT_EXPONENT} | exponents


def input_of(name: str) -> str:
    """Name of the quantiser that feeds a convolution or the classifier."""
    if name in ("stem", "classifier"):
        return {"stem": "input", "classifier": "pool"}[name]
    block, _, layer = name.rpartition(".")
    if layer == "second":
        return f"{block}.first_relu"
    index = int(block.removeprefix("blocks."))
    return f"blocks.{index - 1}.relu" if index else "relu"


def weight_exponents(
    network: ResNet, bits: dict[str, int], activations: dict[str, int]
) -> dict[str, int]:
    """Exponent of every weight quantiser (narrow range) by module name.

    `activations` are the exponents of `activation_exponents`: a bias has scale s_x * s_w and 16
    bits, so the weights of a layer with a large bias get a coarser scale than they would need.
    """
    exponents = {}
    for name, (weight, bias) in folded_parameters(network).items():
        exponent = best_exponent(weight, *code_range(bits[name], signed=True, narrow=True))
        input_scale = 2.0 ** activations[input_of(name)]
        while float(bias.abs().max()) > LARGEST_BIAS_CODE * input_scale * 2.0**exponent:
            exponent += 1
        exponents[name] = exponent
    return exponents
