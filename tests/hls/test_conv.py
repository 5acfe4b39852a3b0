"""The convolution task against NumPy: shapes, unroll factors, skip forms, merged downsample."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from finn_resnet.generation.project import generate_project
from finn_resnet.numerics.dsp_packing import FOURS, chain_ends
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
    shift_to,
    simulate,
)

pytestmark = pytest.mark.slow

UINT4, INT4 = Range(0, 15), Range(-8, 7)
EXACT = Range(-(1 << 15), (1 << 15) - 1)
"""An output range that keeps every bit of small sums."""
KERNELS = [(1, 1), (3, 3), (2, 3), (5, 5), (3, 1), (4, 2)]


def random_conv(graph: StreamGraph, name: str) -> None:
    """One chain input -> convolution -> output with everything drawn at random."""
    rng = graph.rng
    fh, fw = KERNELS[rng.integers(len(KERNELS))]
    h, w = int(rng.integers(fh, 9)), int(rng.integers(fw, 9))
    ich, och = int(rng.integers(1, 8)), int(rng.integers(1, 8))
    stride = tuple(int(s) for s in rng.integers(1, 3, 2))
    pads = tuple(int(p) for p in rng.integers(0, [fh, fw, fh, fw]))
    ow = (w + pads[1] + pads[3] - fw) // stride[1] + 1
    factors = [int(rng.integers(1, limit + 1)) for limit in (och, ich, min(ow, 5))]
    lanes = [n for n in range(1, w + 1) if (factors[2] * stride[1]) % n == 0]
    codes = (UINT8, INT8, Range(0, 15), Range(-8, 7))[rng.integers(4)]
    x = graph.input((h, w, ich), codes, ch_par=int(rng.integers(1, ich + 1)))
    out = graph.conv(
        name,
        x,
        graph.random_weights(och, fh, fw, ich, bits=int(rng.choice([2, 4, 8]))),
        stride=stride,
        pads=pads,
        factors=factors,
        in_lanes=int(rng.choice(lanes)),
        out=(UINT8, INT8, Range(-2, 1))[rng.integers(3)],
        mac_style=("dsp", "lut")[rng.integers(2)],
    )[0]
    graph.output(out)


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_random_shapes_and_factors(kind, tmp_path):
    graph = kind(len(kind.__name__))
    for index in range(10):
        random_conv(graph, f"conv{index}")
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_every_factor_of_one_layer(tmp_path):
    graph = StreamGraph(11)
    for index, factors in enumerate(itertools.product((1, 2, 3), (1, 2), (1, 3))):
        x = graph.input((5, 7, 3))
        weights = graph.random_weights(3, 3, 3, 3)
        out = graph.conv(f"conv{index}", x, weights, pads=(1, 1, 1, 1), factors=factors)[0]
        graph.output(out)
    assert_bit_exact(graph, tmp_path, sanitise=True)


@pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])
def test_skip_forms_and_downsample(kind, tmp_path):
    graph = kind(5)
    cases = [
        ("accumulator", (2, 1, 1), (0, 0), True),
        ("accumulator", (3, 2, 2), (2, 1), True),
        ("accumulator", (1, 3, 3), (0, 3), False),
        ("epilogue", (2, 1, 1), (1, 0), False),
        ("epilogue", (3, 2, 2), (0, 2), True),
        ("epilogue", (5, 4, 5), (0, 0), True),
    ]
    for index, (form, factors, shifts, merged) in enumerate(cases):
        x = graph.input((6, 5, 4), UINT8)
        skip = graph.input((6, 5, 5), INT8)
        weights = graph.random_weights(5, 3, 3, 4)
        ds_weights = graph.random_weights(5, 1, 1, 4) if merged else None
        for edge in graph.conv(
            f"conv{index}",
            x,
            weights,
            pads=(1, 1, 1, 1),
            factors=factors,
            skip=skip,
            skip_form=form,
            shifts=shifts,
            ds_weights=ds_weights,
            ds_tap=(1, 1),
        ):
            graph.output(edge)
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_residual_block_with_forwarded_skip(tmp_path):
    graph = StreamGraph(6)
    for index, factors in enumerate([(2, 1, 1), (3, 2, 2), (2, 4, 3)]):
        x = graph.input((7, 7, 4), UINT8)
        first, skip = graph.conv(
            f"block{index}_conv0",
            x,
            graph.random_weights(4, 3, 3, 4),
            pads=(1, 1, 1, 1),
            factors=factors,
            forward=True,
            out=UINT8,
        )
        second = graph.conv(
            f"block{index}_conv1",
            first,
            graph.random_weights(4, 3, 3, 4),
            pads=(1, 1, 1, 1),
            factors=factors,
            skip=skip,
            skip_form="accumulator",
            shifts=(0, 4),
        )[0]
        graph.output(second)
    assert_bit_exact(graph, tmp_path, count=4, sanitise=True)


def test_strided_downsample_block(tmp_path):
    graph = StreamGraph(8)
    for index, (factors, in_lanes) in enumerate([((2, 1, 1), 2), ((3, 2, 2), 4), ((4, 3, 3), 1)]):
        x = graph.input((8, 9, 3), UINT8)
        out, ds_out = graph.conv(
            f"conv{index}",
            x,
            graph.random_weights(6, 3, 3, 3),
            stride=(2, 2),
            pads=(1, 1, 1, 1),
            factors=factors,
            ds_weights=graph.random_weights(6, 1, 1, 3),
            ds_tap=(1, 1),
            in_lanes=in_lanes,
        )
        graph.output(out)
        graph.output(ds_out)
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_requantiser_before_the_multiplier(tmp_path):
    graph = StreamGraph(9)
    for index, mode in enumerate(["ROUND", "FLOOR", "HALF_UP"]):
        x = graph.input((4, 4, 2), INT8)
        out = graph.conv(
            f"conv{index}",
            x,
            graph.random_weights(2, 3, 3, 2),
            pads=(1, 1, 1, 1),
            factors=(2, 1, 2),
            in_requant=shift_to(Range(-16, 15), 3, mode),
        )[0]
        graph.output(out)
    assert_bit_exact(graph, tmp_path, sanitise=True)


@pytest.mark.parametrize("codes", [UINT8, INT8], ids=["uint8", "int8"])
def test_extreme_operands(codes, tmp_path):
    """All weights -128 and all activations at an end of their range, in every pairing."""
    graph = StreamGraph(3)
    for index, factors in enumerate([(1, 1, 1), (2, 1, 1), (3, 2, 2), (2, 2, 3)]):
        x = graph.input((5, 5, 2), codes)
        weights = np.full((3, 3, 3, 2), -128)
        out = graph.conv(f"conv{index}", x, weights, pads=(1, 1, 1, 1), factors=factors)[0]
        graph.output(out)
    model = graph.model()
    frames = graph.frames(4)
    for values in frames.values():
        values[0], values[1] = codes.lo, codes.hi
    project, run = simulate(model, tmp_path, frames, sanitise=True)
    expected = expected_codes(model, frames)
    for port in project.outputs:
        np.testing.assert_array_equal(run.outputs[port.name], expected[port.tensor])


def test_every_tile_of_four_bit_operands(tmp_path):
    """Factors with 2x2, 3x1 and 1x3 tiles, whole and ragged; merged downsamples, strides."""
    graph = StreamGraph(12)
    for index, factors in enumerate(
        [(1, 1, 4), (2, 1, 1), (4, 2, 1), (2, 2, 2), (5, 3, 2), (3, 1, 3), (4, 2, 5), (4, 1, 2)]
    ):
        x = graph.input((6, 9, 3), (UINT4, INT4)[index % 2])
        for edge in graph.conv(
            f"conv{index}",
            x,
            graph.random_weights(5, 3, 3, 3, bits=4),
            stride=(1 + index // 4, 1 + index // 4),
            pads=(1, 1, 1, 1),
            factors=factors,
            out=EXACT,
            ds_weights=graph.random_weights(5, 1, 1, 3, bits=8 if index == 7 else 4),
            ds_tap=(1, 1),
        ):
            graph.output(edge)
    project = assert_bit_exact(graph, tmp_path, sanitise=True)
    config = (project.directory / "config.hpp").read_text()
    # All in fours but the downsample of 8-bit weights, which goes in pairs beside its convolution.
    assert config.count("port_operands = 3;") == 15
    assert config.count("port_operands = 2;") == 1
    assert all(f"column_group = {group};" in config for group in (1, 2, 3))


CORNERS = [(UINT4, -8), (UINT4, 7), (INT4, -8), (INT4, 7)]


def four_bit_corners() -> StreamGraph:
    """Convolutions whose 18 weights per output are all equal: the longest chains there are."""
    graph = StreamGraph(3)
    tiles = [(2, 2, 2), (3, 2, 1), (1, 2, 3)]
    for index, (codes, weight) in enumerate(CORNERS):
        for name, factors in enumerate((tiles[0], tiles[1 + index % 2])):
            x = graph.input((5, 5, 2), codes)
            weights = np.full((3, 3, 3, 2), weight)
            options = {"pads": (1, 1, 1, 1), "factors": factors, "out": EXACT}
            graph.output(graph.conv(f"conv{index}_{name}", x, weights, **options)[0])
    return graph


def corner_frames(graph: StreamGraph) -> dict[str, np.ndarray]:
    """A frame of the least code, one of the greatest, one of 0, a random one."""
    frames = graph.frames(4)
    for values, index in zip(frames.values(), range(2 * len(CORNERS)), strict=True):
        codes = CORNERS[index // 2][0]
        values[0], values[1], values[2] = codes.lo, codes.hi, 0
    return frames


def test_extreme_four_bit_operands(tmp_path):
    graph = four_bit_corners()
    model, frames = graph.model(), corner_frames(graph)
    project, run = simulate(model, tmp_path, frames, sanitise=True)
    expected = expected_codes(model, frames)
    for port in project.outputs:
        np.testing.assert_array_equal(run.outputs[port.name], expected[port.tensor])


def test_one_tap_more_in_a_chain_of_fours_gives_wrong_codes(tmp_path):
    graph = four_bit_corners()
    model, frames = graph.model(), corner_frames(graph)
    project = generate_project(model, tmp_path, "network")
    config = project.directory / "config.hpp"
    text = config.read_text()
    for codes, weight in CORNERS:
        ends = chain_ends(np.full((1, 18), weight), codes, FOURS)
        if len(ends) > 1:
            longer = [min(end + 1, 18) for end in ends]
            assert _chain_end(ends) in text
            text = text.replace(_chain_end(ends), _chain_end(longer))
    config.write_text(text)
    run = run_codes(compile_project(project.directory), frames)
    expected = expected_codes(model, frames)
    wrong = [
        not np.array_equal(run.outputs[port.name], expected[port.tensor])
        for port in project.outputs
    ]
    # 18 products of -8..7 by 7 are safe in one chain, which cannot be made longer.
    assert wrong == [True] * 6 + [False] * 2


def _chain_end(ends: Sequence[int]) -> str:
    return f"chain_end[] = {{{', '.join(map(str, ends))}}};"
