"""The shipped 4-bit network: four products per DSP wherever its layers allow, and exact codes."""

from __future__ import annotations

import dataclasses
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import load_board
from finn_resnet.generation.project import generate_project
from finn_resnet.image_set import load_image_set
from finn_resnet.importing.load import load_model
from finn_resnet.numerics.dsp_packing import FOURS, PAIRS
from finn_resnet.parallelism import ApplyFolding, estimate
from finn_resnet.parallelism.conv_cost import ConvFactors, conv_dsp
from finn_resnet.parallelism.node_shapes import conv_shape
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    InsertWidthAdapters,
    LowerToHardware,
    MergeBatchNorm,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from finn_resnet.verification.verify import to_pictures, verify_project

MODELS = Path(str(resources.files("finn_resnet.models")))
# 2x2 tiles, and in some layers ragged ones, 3x1 and 1x3.
FOLDING = {
    "Defaults": {"och_par": 4, "ich_par": 2, "ow_par": 2},
    "Conv_0": {"ich_par": 3},
    "Conv_2": {"och_par": 3, "ow_par": 3},
    "Conv_5": {"och_par": 6, "ow_par": 1},
    "Conv_8": {"och_par": 1, "ich_par": 8, "ow_par": 3},
    "Gemm_0": {"och_par": 2, "ow_par": 1},
}


@pytest.fixture(scope="module")
def network() -> ModelWrapper:
    """The hardware graph with factors set by hand."""
    model = load_model(MODELS / "resnet8_w4a4.onnx")
    for step in (
        MergeBatchNorm(),
        LowerToHardware(),
        FuseRequantChains(),
        MergeDownsampleLoop(),
        ForwardWindowBuffer(),
        AbsorbAddIntoAccumulator(),
        ApplyFolding(FOLDING),
        InsertWidthAdapters(),
        SetStreamDepths(),
    ):
        model = model.transform(step)
    return model


def test_inner_layers_take_fewer_dsps_than_in_pairs(network):
    layers = {layer.name: layer for layer in estimate(network, load_board("KV260")).layers}
    for node in network.get_nodes_by_op_type("StreamConv"):
        shape = conv_shape(network, node)
        factors = ConvFactors(*getCustomOp(node).attrs("och_par", "ich_par", "ow_par"))
        pairs = conv_dsp(dataclasses.replace(shape, packing=PAIRS, ds_packing=PAIRS), factors)
        if node.name in ("Conv_0", "Gemm_0"):
            assert shape.packing == PAIRS
            assert layers[node.name].dsp == pairs
            assert layers[node.name].products_per_dsp == 2
        else:
            assert shape.packing == FOURS
            assert layers[node.name].dsp <= 2 / 3 * pairs
            assert layers[node.name].products_per_dsp == 4


@pytest.mark.slow
def test_every_code_is_the_models(network, tmp_path):
    project = generate_project(network, tmp_path, "network")
    config = (project.directory / "config.hpp").read_text()
    # Six inner convolutions, two merged downsamples.
    assert config.count("port_operands = 3;") == 8
    assert all(f"column_group = {group};" in config for group in (1, 2, 3))
    photos = load_image_set(MODELS / "examples.npz").images[:2]
    noise = np.random.default_rng(4).integers(0, 256, (2, *photos.shape[1:]), np.uint8)
    extremes = [np.zeros_like(photos[:1]), np.full_like(photos[:1], 255)]
    pictures = to_pictures(np.concatenate([photos, *extremes, noise]))
    original = load_model(MODELS / "resnet8_w4a4.onnx")
    found = verify_project(network, original, project.directory, pictures)
    assert found.images == len(pictures)
    assert found.compared_codes > 80_000 * len(pictures)
    assert found.first_mismatch is None
    assert found.mismatched_codes == 0
