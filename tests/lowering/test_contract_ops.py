"""The contract's operators: qonnx's results where float32 is exact, no guess where it is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from onnx import helper

from finn_resnet.lowering.contract_ops import run_node
from finn_resnet.lowering.tensors import Constant
from finn_resnet.numerics.exact_tensor import ExactTensor
from finn_resnet.verification.reference import Reference
from tests.random_networks import Features, random_network, random_pictures, seeds


class ContractReference(Reference):
    """A reference that uses the contract whatever the scales are."""

    def __init__(self, model) -> None:
        super().__init__(model)
        self.definition = "contract"


@given(seeds)
@settings(max_examples=5)
def test_the_contract_is_qonnx_where_float32_is_exact(seed: int) -> None:
    original = random_network(seed, Features(roundings=True, off_grid_bias=True))
    pictures = random_pictures(original, seed, 3)
    reference, contract = Reference(original), ContractReference(original)
    assume(reference.definition == "qonnx")
    run, exact = reference.run(pictures), contract.run(pictures)
    # A bias between the accumulator's steps is one float32 sum behind the products.
    assert exact.unexplained == {}
    assert reference.inner_tensors == contract.inner_tensors
    for name in reference.inner_tensors:
        np.testing.assert_array_equal(
            reference.integers(run, name), contract.integers(exact, name), err_msg=name
        )


def test_an_average_of_49_pixels_is_the_exact_sum() -> None:
    codes = np.random.default_rng(1).integers(-128, 128, (2, 3, 7, 7))
    x = ExactTensor.of(codes, Fraction(1, 8))
    out = run_node(helper.make_node("GlobalAveragePool", ["x"], ["y"]), [x])
    found = out.integers(Fraction(1, 8 * 49))
    np.testing.assert_array_equal(found[..., 0, 0], codes.sum(axis=(2, 3)))


def test_a_weight_scale_within_a_channel_is_refused() -> None:
    x = ExactTensor.of(np.ones((1, 2), np.int64), Fraction(1))
    weights = Constant(np.ones((2, 2)), np.ones((2, 2), np.int64), np.array([0.5, 0.25]))
    transposed = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    with pytest.raises(ValueError, match="varies within an output channel"):
        run_node(transposed, [x, weights])
    out = run_node(helper.make_node("MatMul", ["x", "w"], ["y"]), [x, weights])
    assert out.values.tolist() == [[1.0, 0.5]]
