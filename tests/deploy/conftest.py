"""Projects that the deploy tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import Board, load_board
from finn_resnet.generation.project import GeneratedProject, generate_project
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


@pytest.fixture
def project(hardware_model: ModelWrapper, tmp_path: Path) -> GeneratedProject:
    """A fresh project of the small network, for tests that change its files."""
    return generate_project(hardware_model, tmp_path / "build", "small")


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> Board:
    """Every shipped board."""
    return load_board(request.param)
