"""The same generated sources with native integers and with the vendor's real ap_int headers."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ThresholdStage
from finn_resnet.simulation.ap_headers import find_ap_headers
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from tests.stream_graphs import INT8, UINT8, FusedGraph, StreamGraph, expected_codes, shift_to

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ap_headers() -> None:
    try:
        find_ap_headers()
    except UserError as error:
        pytest.skip(str(error))


def every_kind_of_node(kind: type[StreamGraph]) -> StreamGraph:
    """A residual block, pools, adapters and every requantiser stage, with ragged factors."""
    graph = kind(21)
    x = graph.input((6, 6, 3), UINT8)
    stem = graph.conv(
        "stem",
        x,
        graph.random_weights(5, 3, 3, 3),
        pads=(1, 1, 1, 1),
        factors=(2, 2, 3),
        out=UINT8,
    )[0]
    first, shortcut = graph.conv(
        "conv0",
        stem,
        graph.random_weights(5, 3, 3, 5),
        stride=(2, 2),
        pads=(1, 1, 1, 1),
        factors=(3, 1, 2),
        ds_weights=graph.random_weights(5, 1, 1, 5),
        ds_tap=(1, 1),
        in_requant=shift_to(INT8, 1, "HALF_UP"),
    )
    second = graph.conv(
        "conv1",
        first,
        graph.random_weights(5, 3, 3, 5),
        pads=(1, 1, 1, 1),
        factors=(2, 1, 1),
        skip=shortcut,
        skip_form="epilogue",
        shifts=(1, 0),
    )[0]
    a, b = graph.fork("fork", second)
    affine = AffineStage((3, -5, 7, 1, 2), (9, -4, 0, 1, 100), 2, -90, 90)
    rows = tuple(tuple(sorted(graph.rng.integers(-90, 90, 15).tolist())) for _ in range(5))
    steps = ThresholdStage(-8, (1, -1, 1, -1, 1), rows)
    a = graph.requant("steps", a, Requantiser((affine, steps)))
    total = graph.add("join", a, b, (2, 0), shift_to(INT8, 1))
    pooled = graph.pool("pool", total, "max", (2, 2), (1, 1), (0, 0, 0, 0), 3, 2)
    graph.output(pooled)
    graph.output(
        graph.global_pool("mean", graph.adapt(graph.input((3, 3, 5), INT8), 2, 2), "average")
    )
    plain = graph.input((4, 4, 2), Range(-8, 7))
    weights = graph.random_weights(3, 3, 3, 2, bits=4)
    graph.output(graph.conv("lut", plain, weights, factors=(2, 1, 1), mac_style="lut")[0])
    for index, factors in enumerate([(3, 1, 1), (2, 2, 2), (1, 1, 3)]):
        x = graph.input((4, 5, 2), (Range(-8, 7), Range(0, 15))[index % 2])
        weights = graph.random_weights(3, 3, 3, 2, bits=4)
        graph.output(graph.conv(f"fours{index}", x, weights, factors=factors)[0])
    return graph


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_equal_codes(kind, tmp_path):
    graph = every_kind_of_node(kind)
    model, frames = graph.model(), graph.frames(3)
    project = generate_project(model, tmp_path, "network")
    real = run_codes(compile_project(project.directory, ap_int=True), frames)
    native = run_codes(compile_project(project.directory, sanitise=True), frames)
    expected = expected_codes(model, frames)
    for port in project.outputs:
        name = port.name
        np.testing.assert_array_equal(real.outputs[name], native.outputs[name], err_msg=name)
        np.testing.assert_array_equal(real.outputs[name], expected[port.tensor], err_msg=name)
