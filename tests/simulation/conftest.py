"""A small residual network, generated once for all simulation tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.project import generate_project
from tests.stream_graphs import StreamGraph

PADDED = (1, 1, 1, 1)


def residual_graph(seed: int = 1, size: int = 6, channels: int = 4) -> StreamGraph:
    """A convolution that forwards its input, one that adds it back, and a strided one."""
    graph = StreamGraph(seed)
    x = graph.input((size, size, channels), ch_par=1)
    weights = [graph.random_weights(channels, 3, 3, channels) for _ in range(3)]
    first, skip = graph.conv("conv1", x, weights[0], pads=PADDED, factors=(2, 1, 1), forward=True)
    (joined,) = graph.conv(
        "conv2",
        graph.adapt(first, 1, 1),
        weights[1],
        pads=PADDED,
        factors=(2, 1, 1),
        skip=skip,
        skip_form="epilogue",
    )
    joined = graph.adapt(joined, 1, 1)
    (last,) = graph.conv("conv3", joined, weights[2], stride=(2, 2), pads=PADDED, factors=(2, 1, 1))
    graph.output(last)
    return graph


@pytest.fixture(scope="session")
def residual() -> StreamGraph:
    return residual_graph()


@pytest.fixture(scope="session")
def residual_model(residual: StreamGraph) -> ModelWrapper:
    return residual.model()


@pytest.fixture(scope="session")
def project_dir(
    residual_model: ModelWrapper, cxx: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return generate_project(residual_model, tmp_path_factory.mktemp("residual"), "net").directory
