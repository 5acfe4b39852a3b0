"""Fork, addition, requantisation, pools, width adapters and DMA against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ShiftStage, ThresholdStage
from finn_resnet.numerics.rounding import ROUNDING_MODES
from tests.stream_graphs import (
    INT8,
    UINT8,
    StreamGraph,
    assert_bit_exact,
    expected_codes,
    shift_to,
    simulate,
)

pytestmark = pytest.mark.slow


def test_fork_and_add(tmp_path):
    graph = StreamGraph(1)
    for index, (lanes, ch_par) in enumerate([(1, 1), (2, 3), (3, 2), (4, 5)]):
        x = graph.input((3, 5, 5), UINT8, lanes=lanes, ch_par=ch_par)
        y = graph.input((3, 5, 5), INT8, lanes=lanes, ch_par=ch_par)
        a, b, c = graph.fork(f"fork{index}", x, 3)
        total = graph.add(f"add{index}", a, y, (index, 1), shift_to(INT8, 2))
        graph.output(graph.add(f"join{index}", total, b, (0, 0), shift_to(UINT8, 1)))
        graph.output(c)
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_resize(tmp_path):
    """Factors and lanes that divide each other or not, ragged column groups and channels."""
    graph = StreamGraph(6)
    layouts = [(1, 1), (2, 3), (3, 2), (4, 5), (5, 5), (1, 5)]
    factors = [(2, 2), (1, 3), (3, 1), (2, 5), (4, 2), (2, 3)]
    for index, ((lanes, ch_par), (rows, columns)) in enumerate(zip(layouts, factors, strict=True)):
        x = graph.input((3, 5, 5), (INT8, UINT8)[index % 2], lanes=lanes, ch_par=ch_par)
        graph.output(graph.resize(f"resize{index}", x, rows, columns))
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_width_adapters_between_all_layouts(tmp_path):
    graph = StreamGraph(2)
    layouts = [(1, 1), (2, 3), (3, 5), (4, 7), (6, 2)]
    for index, (source, target) in enumerate(itertools.permutations(layouts, 2)):
        if (index + source[0]) % 2:
            continue
        x = graph.input((2, 7, 7), UINT8, lanes=source[0], ch_par=source[1])
        graph.output(graph.adapt(x, *target))
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_adapter_where_one_token_completes_two(tmp_path):
    """9 channels, 3 in and 8 out: the last input token ends both output tokens of a pixel."""
    graph = StreamGraph(3)
    for lanes in (1, 2):
        graph.output(graph.adapt(graph.input((2, 3, 9), INT8, lanes=2, ch_par=3), lanes, 8))
    assert_bit_exact(graph, tmp_path, sanitise=True)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_pools(kind, tmp_path):
    graph = StreamGraph(4)
    cases = [
        ((2, 2), (2, 2), (0, 0, 0, 0), 1, 1),
        ((3, 3), (2, 2), (1, 1, 1, 1), 2, 2),
        ((3, 2), (1, 2), (1, 0, 0, 1), 3, 3),
        ((3, 3), (1, 1), (1, 1, 1, 1), 4, 2),
    ]
    for index, (kernel, stride, pads, ch_par, ow_par) in enumerate(cases):
        codes = (UINT8, INT8)[index % 2]
        x = graph.input((6, 7, 5), codes)
        out = shift_to(codes, 2) if kind == "average" else None
        pooled = graph.pool(f"pool{index}", x, kind, kernel, stride, pads, ch_par, ow_par, out)
        graph.output(pooled)
    assert_bit_exact(graph, tmp_path, sanitise=True)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_global_pools(kind, tmp_path):
    graph = StreamGraph(5)
    for index, (lanes, ch_par) in enumerate([(1, 1), (2, 3), (3, 5), (5, 4)]):
        x = graph.input((4, 5, 5), (INT8, UINT8)[index % 2], lanes=lanes, ch_par=ch_par)
        out = shift_to(INT8, 4) if index % 2 else None
        graph.output(graph.global_pool(f"pool{index}", x, kind, out))
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_dma_token_widths(tmp_path):
    """Tokens narrower and wider than a beat, ragged channel groups, codes of 1, 2 and 4 bytes."""
    graph = StreamGraph(6)
    for ch_par in (1, 3, 16, 17, 20):
        for codes in (INT8, Range(0, 9000), Range(-100000, 100000)):
            graph.output(graph.input((2, 3, 20), codes, lanes=2, ch_par=ch_par))
    assert_bit_exact(graph, tmp_path, sanitise=True)


def exhaustive(graph: StreamGraph, name: str, codes: Range, requant: Requantiser, channels=1):
    """A requantiser fed with every code of a range in every channel."""
    x = graph.input((1, codes.hi - codes.lo + 1, channels), codes)
    graph.output(graph.requant(name, x, requant))


def run_exhaustively(graph: StreamGraph, tmp_path) -> None:
    model, frames = graph.model(), graph.frames(1)
    for name, values in frames.items():
        every = np.arange(values.shape[2]) + graph_low(graph, name)
        frames[name] = np.broadcast_to(every[None, None, :, None], values.shape).copy()
    project, run = simulate(model, tmp_path, frames, sanitise=True)
    expected = expected_codes(model, frames)
    for port in project.outputs:
        want = expected[port.tensor]
        np.testing.assert_array_equal(run.outputs[port.name], want, err_msg=port.name)


def graph_low(graph: StreamGraph, port: str) -> int:
    index = int(port.removeprefix("input") or 0)
    return graph._ranges[f"in{index}_host"].lo


def test_every_rounding_mode_on_every_code(tmp_path):
    graph = StreamGraph(7)
    for mode in ROUNDING_MODES:
        for shift in (-2, 1, 3, 14):
            stage = ShiftStage(shift, mode, -40, 50)
            exhaustive(
                graph, f"{mode}_{shift + 2}".lower(), Range(-300, 299), Requantiser((stage,))
            )
    run_exhaustively(graph, tmp_path)


def test_affine_and_threshold_stages_on_every_code(tmp_path):
    graph = StreamGraph(8)
    affine = AffineStage((3, -5, 70), (100, -7, 4000), 5, -60, 60)
    rows = tuple(tuple(sorted(graph.rng.integers(-320, 320, 15).tolist())) for _ in range(3))
    threshold = ThresholdStage(-8, (1, -1, 1), rows)
    uniform = ThresholdStage(0, (1,), (tuple(range(-128, 127)),))
    chained = Requantiser((affine, ShiftStage(2, "ROUND", -8, 7)))
    cases = {
        "affine": Requantiser((affine,)),
        "threshold": Requantiser((threshold,)),
        "levels": Requantiser((uniform,)),
        "chained": chained,
    }
    for name, requant in cases.items():
        exhaustive(graph, name, Range(-300, 299), requant, channels=3)
    run_exhaustively(graph, tmp_path)


def test_a_missing_rounding_case_would_be_seen(tmp_path):
    """Negative control: the same graph generated with another rounding mode differs."""
    outputs = []
    for mode in ("ROUND", "HALF_UP"):
        graph = StreamGraph(9)
        exhaustive(graph, "requant", Range(-64, 63), Requantiser((ShiftStage(2, mode, -32, 31),)))
        model = graph.model()
        frames = {"input": np.arange(-64, 64).reshape(1, 1, 128, 1)}
        outputs.append(simulate(model, tmp_path / mode, frames, sanitise=True)[1].output)
    assert not np.array_equal(*outputs)
