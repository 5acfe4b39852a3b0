"""The grouped convolution task against NumPy: depthwise, depth multipliers, groups of several."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.generation.project import generate_project
from finn_resnet.numerics.ranges import Range
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from tests.stream_graphs import (
    INT8,
    UINT8,
    FusedGraph,
    StreamGraph,
    assert_bit_exact,
    expected_codes,
    simulate,
)

UINT4 = Range(0, 15)
KERNELS = [(1, 1), (3, 3), (2, 3), (5, 5), (3, 1)]
GROUPS = [(1, 1), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
"""Inputs and outputs of a group."""


def random_layer(graph: StreamGraph, name: str) -> None:
    """One chain input -> grouped convolution -> output with everything drawn at random."""
    rng = graph.rng
    fh, fw = KERNELS[rng.integers(len(KERNELS))]
    h, w = int(rng.integers(fh, 9)), int(rng.integers(fw, 9))
    part, per = GROUPS[rng.integers(len(GROUPS))]
    group = int(rng.integers(1, 7))
    stride = tuple(int(s) for s in rng.integers(1, 3, 2))
    pads = tuple(int(p) for p in rng.integers(0, [fh, fw, fh, fw]))
    ow = (w + pads[1] + pads[3] - fw) // stride[1] + 1
    factors = [int(rng.integers(1, limit + 1)) for limit in (group, min(ow, 5))]
    lanes = [n for n in range(1, w + 1) if (factors[1] * stride[1]) % n == 0]
    codes = (UINT8, INT8, UINT4, Range(-8, 7))[rng.integers(4)]
    x = graph.input((h, w, group * part), codes, ch_par=int(rng.integers(1, group * part + 1)))
    out = graph.grouped_conv(
        name,
        x,
        graph.random_weights(group * per, fh, fw, part, bits=int(rng.choice([2, 4, 8]))),
        stride=stride,
        pads=pads,
        factors=factors,
        in_lanes=int(rng.choice(lanes)),
        out=(UINT8, INT8, Range(-2, 1))[rng.integers(3)],
        mac_style=("dsp", "lut")[rng.integers(2)],
        pad_value=int(rng.choice([0, codes.lo, codes.hi])),
    )[0]
    graph.output(out)


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_random_shapes_and_factors(kind, cxx, tmp_path):
    graph = kind(len(kind.__name__))
    for index in range(5):
        random_layer(graph, f"conv{index}")
    assert_bit_exact(graph, tmp_path, sanitise=True)


def extreme_layers() -> StreamGraph:
    """All weights at an end of their range: the longest chains, in pairs, threes and one by one."""
    graph = StreamGraph(3)
    for index, (codes, weight, factors) in enumerate(
        [(UINT8, -128, (3, 2)), (INT8, -128, (2, 3)), (UINT4, -8, (2, 3)), (UINT4, 7, (3, 4))]
    ):
        x = graph.input((5, 5, 3), codes)
        weights = np.full((3, 3, 3, 1), weight)
        options = {"pads": (1, 1, 1, 1), "factors": factors}
        graph.output(graph.grouped_conv(f"conv{index}", x, weights, **options)[0])
    return graph


def extreme_frames(graph: StreamGraph) -> dict[str, np.ndarray]:
    """A frame of the least code, one of the greatest, one of 0, a random one."""
    frames = graph.frames(4)
    for values, codes in zip(frames.values(), (UINT8, INT8, UINT4, UINT4), strict=True):
        values[0], values[1], values[2] = codes.lo, codes.hi, 0
    return frames


def test_extreme_operands(cxx, tmp_path):
    graph = extreme_layers()
    model, frames = graph.model(), extreme_frames(graph)
    project, run = simulate(model, tmp_path, frames, sanitise=True)
    expected = expected_codes(model, frames)
    for port in project.outputs:
        np.testing.assert_array_equal(run.outputs[port.name], expected[port.tensor])
    # Columns share a DSP: two of 8-bit operands, three of 4-bit ones.
    config = (project.directory / "config.hpp").read_text()
    assert config.count("port_operands = 2;") == config.count("port_operands = 3;") == 2
    assert config.count("column_group = 2;") == 2 and config.count("column_group = 3;") == 2


def test_a_chain_that_is_too_long_is_noticed(cxx, tmp_path):
    """Negative control: without the cuts that the proof asks for, sums of columns mix."""
    graph = extreme_layers()
    model, frames = graph.model(), extreme_frames(graph)
    project = generate_project(model, tmp_path, "network")
    config = project.directory / "config.hpp"
    text = config.read_text()
    assert text.count("chains = 3;") == 1
    cut = text[: text.index("chains = 3;")].rindex("struct ")
    joined = text[cut:].replace("chains = 3;", "chains = 1;", 1)
    start, end = joined.index("chain_end[] = {"), joined.index("};", joined.index("chain_end[]"))
    config.write_text(text[:cut] + joined[:start] + "chain_end[] = {9" + joined[end:])
    run = run_codes(compile_project(project.directory), frames)
    expected = expected_codes(model, frames)
    wrong = [
        port.name
        for port in project.outputs
        if not np.array_equal(run.outputs[port.name], expected[port.tensor])
    ]
    assert len(wrong) == 1
