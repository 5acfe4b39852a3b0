"""Projects that the deploy tests share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import Board, load_board
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import Project
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    LowerToHardware,
    MergeBatchNorm,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from tests.qonnx_models import residual_network

BOARDS = ("KV260", "Ultra96")
CLOCKS = {"KV260": 250.0, "Ultra96": 214.3}


def optimised(model: ModelWrapper) -> ModelWrapper:
    """The hardware graph of a quantised model with every optimisation, before parallelism."""
    for step in (
        MergeBatchNorm(),
        LowerToHardware(),
        FuseRequantChains(),
        MergeDownsampleLoop(),
        ForwardWindowBuffer(),
        AbsorbAddIntoAccumulator("exact"),
    ):
        model = model.transform(step)
    return model


@pytest.fixture(scope="session")
def hardware_model() -> ModelWrapper:
    """A small residual network as a hardware graph."""
    return optimised(residual_network()).transform(SetStreamDepths())


def two_output_network() -> ModelWrapper:
    """The small network with its first activation as a second output."""
    model = residual_network()
    tensor = model.get_nodes_by_op_type("Relu")[0].output[0]
    quantised = model.find_consumer(tensor).output[0]
    shape = [1, 4, 8, 8]
    model.graph.output.append(helper.make_tensor_value_info(quantised, TensorProto.FLOAT, shape))
    return model


def with_uram(model: ModelWrapper, which: Iterable[int] | None = None) -> ModelWrapper:
    """A copy with the weights of some convolutions (all if None) in URAM."""
    model = ModelWrapper(model.model.SerializeToString())
    nodes = model.get_nodes_by_op_type("ParameterStream")
    for index in range(len(nodes)) if which is None else which:
        model.get_customop_wrapper(nodes[index]).set_nodeattr("mem_style", "uram")
    return model


@pytest.fixture(scope="session")
def uram_model(hardware_model: ModelWrapper) -> ModelWrapper:
    """The small network with all weights in URAM."""
    return with_uram(hardware_model)


@pytest.fixture
def project(hardware_model: ModelWrapper, tmp_path: Path) -> Project:
    """A fresh project of the small network, for tests that change its files."""
    return generate_project(hardware_model, tmp_path / "build", "small")


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> Board:
    """Every shipped board."""
    return load_board(request.param)
