"""Lowering keeps the integer codes of every output, whatever the network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from qonnx.core.onnx_exec import execute_onnx

from finn_resnet.transformation import FuseRequantChains, LowerToHardware
from finn_resnet.transformation.lower_to_hardware import REFERENCE_PROPERTY
from finn_resnet.verification.reference import Reference
from tests.random_networks import (
    Features,
    feature_sets,
    random_network,
    random_pictures,
    seeds,
)


def outputs_of(model, pictures: np.ndarray) -> list[np.ndarray]:
    """Outputs of a lowered graph, picture by picture."""
    name = model.graph.input[0].name
    runs = [execute_onnx(model, {name: picture[None]}) for picture in pictures]
    return [np.concatenate([run[t.name] for run in runs]) for t in model.graph.output]


def assert_same_outputs(original, hardware, pictures: np.ndarray) -> None:
    """Outputs of the hardware graph are the reference's integers times their scale."""
    reference = Reference(original)
    run = reference.run(pictures)
    assert hardware.get_metadata_prop(REFERENCE_PROPERTY) == reference.definition
    for name, found in zip(reference.outputs, outputs_of(hardware, pictures), strict=True):
        expected = reference.integers(run, name)
        scale = np.array([float(s) for s in reference.scale(name)])
        step = scale.reshape(1, -1, *(1,) * (found.ndim - 2))
        np.testing.assert_array_equal(np.rint(found / step), expected)
        assert not reference.off_values(run, name, found).any()


@pytest.mark.slow
@given(seeds, feature_sets)
@settings(max_examples=60)
def test_codes_survive_lowering_and_fusing(seed: int, features: Features) -> None:
    model = random_network(seed, features)
    pictures = random_pictures(model, seed, 4)
    lowered = model.transform(LowerToHardware())
    assert_same_outputs(model, lowered, pictures)
    assert_same_outputs(model, lowered.transform(FuseRequantChains()), pictures)
