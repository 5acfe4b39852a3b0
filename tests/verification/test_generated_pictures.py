"""Generated pictures reach what they are made for, and coverage counts it."""

from __future__ import annotations

import numpy as np

from finn_resnet.numerics.ranges import Range
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.verification.coverage import Coverage, threshold_share
from finn_resnet.verification.generated_pictures import generated_pictures
from finn_resnet.verification.reference import Reference
from finn_resnet.verification.verify import input_codes
from tests.qonnx_models import ModelBuilder, residual_network
from tests.random_networks import random_pictures
from tests.verification.test_verify import optimised


def reached(original, pictures: np.ndarray) -> dict[str, Coverage]:
    reference = Reference(original)
    run = reference.run(pictures)
    return {n: reference.coverage(n, reference.integers(run, n)) for n in reference.inner_tensors}


def test_every_input_code_comes_up_and_repeats() -> None:
    model = optimised(residual_network())
    pictures = generated_pictures(model)
    assert pictures.dtype == np.float32 and np.array_equal(pictures, generated_pictures(model))
    codes = input_codes(model, pictures)
    assert set(np.unique(codes)) == set(range(-128, 128))
    # Channels one by one, each at both ends.
    alone = [c for c in codes if len({tuple(np.unique(c[..., k])) for k in range(3)}) == 2]
    assert len(alone) >= 6
    scaled = pictures / np.float32(as_op(nodes_of(model, "QuantizeInput")[0]).get_nodeattr("scale"))
    assert np.any(scaled % 1 == 0.5) and scaled.max() > 127 and scaled.min() < -128


def test_the_first_convolution_is_driven_to_both_ends() -> None:
    net = ModelBuilder(4)
    x = net.conv(net.quant("image", -7), 3, 4, 3)
    original = net.model(net.relu(x), [1, 3, 6, 6], [1, 4, 6, 6])
    entry = reached(original, generated_pictures(optimised(original)))[x]
    assert entry.extremes == 2, (entry.possible, entry.lowest, entry.highest)
    photographs = random_pictures(original, 1, 30)[2:]
    assert reached(original, photographs)[x].extremes == 0


def test_generated_pictures_hit_more_thresholds_than_random_ones() -> None:
    original = residual_network()
    generated = generated_pictures(optimised(original))
    share = threshold_share(reached(original, generated))
    assert share > threshold_share(reached(original, random_pictures(original, 1, len(generated))))


def test_a_threshold_is_hit_from_both_sides() -> None:
    first = Coverage.of(np.array([0, 1, 3]), Range(0, 4), quantised=True)
    assert (first.thresholds, first.thresholds_hit, first.extremes) == (4, 1, 1)
    both = first.joined(Coverage.of(np.array([2, 4]), Range(0, 4), quantised=True))
    assert (both.thresholds_hit, both.extremes, both.lowest, both.highest) == (4, 2, 0, 4)
    sums = Coverage.of(np.array([-5, 7]), Range(-9, 7), quantised=False)
    assert (sums.thresholds, sums.extremes) == (0, 1)
    assert threshold_share({"a": both, "b": sums}) == 1.0
    assert threshold_share({"b": sums}) is None
    assert both.as_dict()["reached"] == [0, 4]
