"""The comparison sees every quantised tensor, and sees a single wrong weight."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.parallelism import ApplyFolding
from finn_resnet.simulation.runner import SimulationError
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
from finn_resnet.verification import Verification, verify_project
from finn_resnet.verification.reference import Reference
from tests.qonnx_models import ModelBuilder, residual_network
from tests.random_networks import Features, feature_sets, random_network, random_pictures, seeds


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
@example(1322, Features(True, True, True, True))  # padding in front of a map that moves 0
@settings(max_examples=5)
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
    reference = Reference(original)
    assert set(reference.tensors) <= set(result.compared_tensors)
    assert f"{reference.outputs[-1]} (port)" in result.compared_tensors
    assert result.unexplained == {} and result.failure is None
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


def unquantised_network():
    """The last convolution has no quantiser behind it."""
    net = ModelBuilder(4)
    x = net.relu(net.conv(net.quant("image", -7), 3, 4, 3))
    return net.model(net.conv(x, 4, 5, 1), [1, 3, 6, 6], [1, 5, 6, 6])


def edit(path: Path, old: str, new: str) -> None:
    """Replace text of a generated file that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_output_bytes_forced_to_zero_are_caught(tmp_path: Path, cxx: str) -> None:
    """Streams in front of the output DMA are right: only the port shows it."""
    original = residual_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    edit(
        project.directory / "include" / "dma.hpp", "(code >> (8 * (i % C::code_bytes))) & 255", "0"
    )
    result = verify_project(model, original, project.directory, random_pictures(original, 3, 4))
    output = original.graph.output[0].name
    assert set(result.mismatches) == {f"{output} (port)"}
    assert result.first_mismatch.node == "output_dma_0"
    assert "codes of the C++ differ" in result.failure


def test_a_changed_weight_in_an_unquantised_last_layer_is_caught(tmp_path: Path, cxx: str) -> None:
    original = unquantised_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    pictures = random_pictures(original, 3, 4)
    output = original.graph.output[0].name
    right = verify_project(model, original, project.directory, pictures)
    assert right.failure is None
    # Raw accumulators, the unquantised output and the port: both convolutions and the Relu between.
    assert len([t for t in right.compared_tensors if "thresholds" not in t]) == 6
    layer = nodes_of(model, "StreamConv")[-1].name
    change_one_weight(project.directory, layer)
    result = verify_project(model, original, project.directory, pictures)
    assert set(result.mismatches) == {output, f"{output} (port)"}
    assert result.first_mismatch.node == layer


@pytest.mark.parametrize(("member", "bits"), [("acc_bits", 12), ("sum_bits", 11)])
def test_widths_are_part_of_the_verification(
    tmp_path: Path, cxx: str, member: str, bits: int
) -> None:
    """Native integers are wider than declared ones: codes alone would not show it."""
    original = unquantised_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    config = project.directory / "config.hpp"
    config.write_text(re.sub(rf"\b{member} = \d+", f"{member} = {bits}", config.read_text()))
    with pytest.raises(SimulationError, match=f"does not fit {bits} signed bits"):
        verify_project(model, original, project.directory, random_pictures(original, 3, 4))


def test_a_wrong_scale_on_the_host_is_caught(tmp_path: Path, cxx: str) -> None:
    """The codes are right and the values are not; labels of a negative scale differ too."""
    original = residual_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    host = as_op(nodes_of(model, "DequantizeOutput")[0])
    host.set_nodeattr("scales", [-float(scale) for scale in host.get_nodeattr("scales")])
    result = verify_project(model, original, project.directory, random_pictures(original, 3, 4))
    assert list(result.mismatches) == [f"{original.graph.output[0].name} (values)"]
    assert result.mismatched_labels > 0 and result.failure is not None


def test_labels_that_differ_fail_a_run() -> None:
    assert Verification(images=1).failure is None
    assert "3 labels" in Verification(images=9, mismatched_labels=3).failure
    assert "tensor a" in Verification(images=9, unexplained={"a": 2}).failure


def test_outputs_alone_can_be_compared(tmp_path: Path, cxx: str) -> None:
    original = residual_network()
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    pictures = random_pictures(original, 4, 3)
    labels = np.zeros(3, np.int64)
    result = verify_project(
        model, original, project.directory, pictures, labels, every_tensor=False
    )
    assert result.compared_tensors == [f"{original.graph.output[0].name} (port)"]
    assert result.compared_codes == 3 * 5
    assert result.accuracy_accelerator == result.accuracy_reference is not None


def test_pictures_of_another_size_are_refused(tmp_path: Path, cxx: str) -> None:
    original = residual_network(size=8)
    model = optimised(original)
    project = generate_project(model, tmp_path, "net")
    with pytest.raises(UserError, match="resize"):
        verify_project(model, original, project.directory, np.zeros((2, 3, 9, 8), np.float32))
