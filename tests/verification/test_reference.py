"""Both definitions of "equal", and what cannot pass for float32's error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from finn_resnet.importing import read_model
from finn_resnet.lowering.tensors import Constant
from finn_resnet.verification.reference import Reference
from tests.qonnx_models import ModelBuilder
from tests.random_networks import Features, random_network, random_pictures, seeds


def free_scale_network(input_scale: float, bits: int = 8, signed: bool = False):
    """Two convolutions behind an input of any scale: the first rounds at many near-ties."""
    net = ModelBuilder(2)
    inputs = ["image", *map(net.constant, (input_scale, 0.0, float(bits)))]
    x = net.node(
        "Quant", inputs, domain="qonnx.custom_op.general", signed=int(signed), narrow=0,
        rounding_mode="ROUND",
    )  # fmt: skip
    net.exponents[x] = -4
    weights = net.quant(net.constant(net.rng.normal(0, 0.3, (4, 3, 3, 3))), -6)
    hidden = net.node("Conv", [x, weights], kernel_shape=[3, 3], pads=[1] * 4)
    hidden = net.quant(net.node("Relu", [hidden]), -4, signed=False)
    weights = net.quant(net.constant(net.rng.normal(0, 1, (5, 4, 1, 1))), -6)
    out = net.node("Conv", [hidden, weights], kernel_shape=[1, 1])
    return net.model(out, [1, 3, 8, 8], [1, 5, 8, 8])


def pixel_pictures(count: int) -> np.ndarray:
    pixels = np.random.default_rng(5).integers(0, 256, (count, 3, 8, 8))
    return (pixels / 255).astype(np.float32)


def test_near_ties_are_counted_and_explained() -> None:
    reference = Reference(free_scale_network(float(np.float32(1 / 15)), bits=4))
    run = reference.run(pixel_pictures(24))
    assert reference.definition == "contract"
    assert sum(run.float32_differences.values()) > 0
    assert run.unexplained == {}


@pytest.mark.parametrize(
    ("scale", "bits", "signed", "mean"),
    [(1 / 255, 8, False, 0.0), (2 / 255, 7, False, 0.0), (2 / 255, 8, True, 0.5)],
)
def test_the_input_is_quantised_in_float32(scale, bits, signed, mean) -> None:
    """Half of all pixels lie on a tie of 2 / 255, which float64 sees otherwise."""
    scale = float(np.float32(scale))
    reference = Reference(free_scale_network(scale, bits, signed))
    pictures = pixel_pictures(4) - np.float32(mean)
    run = reference.run(pictures)
    bounds = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    expected = np.rint(np.clip(pictures / np.float32(scale), *bounds)).astype(np.int64)
    np.testing.assert_array_equal(reference.integers(run, reference.tensors[0]), expected)
    assert run.unexplained == {}


def test_a_wrong_contract_is_not_explained_by_rounding() -> None:
    """Negative control: one weight code off by one in the contract alone."""
    reference = Reference(free_scale_network(float(np.float32(1 / 255))))
    name = next(n for n, c in reference._constants.items() if c.codes is not None)
    right = reference._constants[name]
    codes = right.codes.copy()
    codes.flat[0] += 1
    reference._constants[name] = Constant(right.values, codes, right.scale)
    run = reference.run(pixel_pictures(2))
    assert sum(run.unexplained.values()) > 0


@given(seeds)
@settings(max_examples=5)
def test_float32_never_strays_from_the_contract_by_more_than_its_error(seed: int) -> None:
    features = Features(batch_norm=True, free_scales=True, roundings=True, off_grid_bias=True)
    model = random_network(seed, features)
    run = Reference(model).run(random_pictures(model, seed, 4))
    assert run.unexplained == {}


@pytest.mark.parametrize(
    "name", ["q_in_1over255", "t_2_255_7b", "t_1_15_4b", "t_mean_half_s8", "r9_unquantised_output"]
)
def test_given_cases_have_integers_everywhere(shared_models: Path, name: str) -> None:
    model = read_model(shared_models.parent / "cases" / f"{name}.onnx")
    reference = Reference(model)
    run = reference.run(random_pictures(model, 1, 4))
    assert run.unexplained == {}
    assert reference.outputs[0] in reference.inner_tensors
    for tensor in reference.inner_tensors:
        assert reference.integers(run, tensor).dtype == np.int64
