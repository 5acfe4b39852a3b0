"""MergeBatchNorm: exact by default, and honest about what the requantising form changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from finn_resnet.transformation import FuseRequantChains, LowerToHardware, MergeBatchNorm
from finn_resnet.verification.reference import Reference
from tests.random_networks import Features, random_network, random_pictures, seeds
from tests.transformation.test_lower_to_hardware import assert_same_outputs


@pytest.mark.slow
@given(seeds)
@example(625)
@settings(max_examples=15)
def test_exact_form_removes_batch_norms_and_keeps_the_codes(seed: int) -> None:
    original = random_network(seed, Features(batch_norm=True))
    pictures = random_pictures(original, seed, 3)
    # a draw without batch norm stays as it is, and qonnx executes no graph without shapes
    merged = original.transform(MergeBatchNorm()).transform(InferShapes())
    assert all(n.op_type != "BatchNormalization" for n in merged.graph.node)
    expected = Reference(original).run(pictures)
    for name in (t.name for t in merged.graph.output):
        runs = [execute_onnx(merged, {"image": p[None]})[name] for p in pictures]
        np.testing.assert_array_equal(np.concatenate(runs), expected.values[name])
    hardware = merged.transform(LowerToHardware()).transform(FuseRequantChains())
    assert_same_outputs(original, hardware, pictures)


def test_exact_form_merges_free_scales_too() -> None:
    original = random_network(11, Features(batch_norm=True, free_scales=True, off_grid_bias=True))
    merged = original.transform(MergeBatchNorm())
    hardware = merged.transform(LowerToHardware())
    assert_same_outputs(original, hardware, random_pictures(original, 11, 3))


@given(seeds)
@settings(max_examples=10)
def test_requantising_form_says_what_it_changed(seed: int) -> None:
    original = random_network(seed, Features(batch_norm=True))
    norms = sum(n.op_type == "BatchNormalization" for n in original.graph.node)
    merge = MergeBatchNorm("requantise")
    merged = original.transform(merge)
    assert len(merge.merged) == norms
    assert all(n.op_type != "BatchNormalization" for n in merged.graph.node)
    for entry in merge.merged:
        assert 0 <= entry.changed_weight_codes <= entry.weights
        assert np.isfinite(entry.largest_bias_error)
    hardware = merged.transform(LowerToHardware())
    assert_same_outputs(merged, hardware, random_pictures(merged, seed, 2))


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="neither"):
        MergeBatchNorm("float")
