"""The comparison sees every quantised tensor, and sees a single wrong weight."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.parallelism import ApplyFolding
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    InsertWidthAdapters,
    LowerToHardware,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from finn_resnet.transformation.graph_edit import as_op, nodes_of
from finn_resnet.verification import verify_project
from finn_resnet.verification.reference import Reference
from tests.qonnx_models import residual_network
from tests.random_networks import feature_sets, random_network, random_pictures, seeds


def optimised(original, folding: dict | None = None):
    steps = [
        LowerToHardware(),
        FuseRequantChains(),
        MergeDownsampleLoop(),
        ForwardWindowBuffer(),
        AbsorbAddIntoAccumulator(),
        ApplyFolding(folding or {"Defaults": {}}),
        InsertWidthAdapters(),
        SetStreamDepths(),
    ]
    for step in steps:
        original = original.transform(step)
    return original


def random_folding(model, seed: int) -> dict:
    """Random factors of every convolution, dividing or not."""
    rng = np.random.default_rng(seed)
    folding = {"Defaults": {}}
    for node in nodes_of(model, "StreamConv"):
        och, ich, ow = as_op(node).attrs("och", "ich", "ow")
        folding[node.name] = {
            "och_par": int(rng.integers(1, och + 1)),
            "ich_par": int(rng.integers(1, ich + 1)),
            "ow_par": int(rng.integers(1, min(ow, 4) + 1)),
            "mac_style": str(rng.choice(["dsp", "lut"])),
        }
    return folding


@given(seeds, feature_sets)
@settings(max_examples=6)
def test_random_networks_are_bit_exact_in_cpp(
    tmp_path_factory, cxx: str, seed: int, features
) -> None:
    original = random_network(seed, features)
    model = optimised(original)
    model = optimised(original, random_folding(model, seed))
    project = generate_project(model, tmp_path_factory.mktemp("net"), "net")
    pictures = random_pictures(original, seed, 5)
    result = verify_project(model, original, project.directory, pictures)
    assert result.mismatched_codes == 0, str(result.first_mismatch)
    assert result.compared_tensors == Reference(original).tensors
    assert result.compared_codes > 0 and result.mismatched_labels == 0


def change_one_weight(directory: Path, node: str) -> None:
    """Add one to the first weight of a layer in the generated C++."""
    path = directory / "weights" / f"{node}_weights.inc"
    text = path.read_text()
    first = re.search(r"-?\d+", text)
    value = int(first.group())
    changed = value + 1 if value < 127 else value - 1
    path.write_text(text[: first.start()] + str(changed) + text[first.end() :])


def test_one_changed_weight_is_caught_and_its_layer_named(tmp_path: Path, cxx: str) -> None:
    original = residual_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    pictures = random_pictures(original, 3, 4)
    assert verify_project(model, original, project.directory, pictures).mismatched_codes == 0
    layer = nodes_of(model, "StreamConv")[1].name
    change_one_weight(project.directory, layer)
    result = verify_project(model, original, project.directory, pictures)
    assert result.mismatched_codes > 0
    assert result.first_mismatch.node == layer
    assert result.first_mismatch.expected != result.first_mismatch.found
    assert layer in str(result.first_mismatch)


def test_outputs_alone_can_be_compared(tmp_path: Path, cxx: str) -> None:
    original = residual_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    pictures = random_pictures(original, 4, 3)
    labels = np.zeros(3, np.int64)
    result = verify_project(
        model, original, project.directory, pictures, labels, every_tensor=False
    )
    assert result.compared_tensors == [original.graph.output[0].name]
    assert result.compared_codes == 3 * 5
    assert result.accuracy_accelerator == result.accuracy_reference is not None


def test_pictures_of_another_size_are_refused(tmp_path: Path, cxx: str) -> None:
    original = residual_network(size=8)
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    with pytest.raises(UserError, match="resize"):
        verify_project(model, original, project.directory, np.zeros((2, 3, 9, 8), np.float32))
