"""Whole networks in Verilator: every output code and every activation stream, frame after frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from finn_resnet.custom_ops import custom_op
from finn_resnet.custom_ops.base import SearchRole
from finn_resnet.errors import UserError
from finn_resnet.generation.rtl.registry import GENERATORS
from finn_resnet.generation.rtl.rtl_network import build_rtl, fifo_module
from finn_resnet.numerics.requantiser import AffineStage, Requantiser
from finn_resnet.simulation.rtl_schedule import rtl_schedule
from tests.rtl.bench import Bench, Device, Run, Stream, picture_tokens
from tests.rtl.test_dma import frame_bytes
from tests.stream_graphs import INT8, UINT8, FusedGraph, StreamGraph, expected_codes, shift_to

pytestmark = pytest.mark.slow


def network_bench(graph: StreamGraph, folder: Path, frames: int = 3) -> Bench:
    """A network with probes, its input beats, and the tokens of every stream that carries codes."""
    model, codes = graph.model(), graph.frames(frames)
    network = build_rtl(model, "network", probes=True)
    sources = network.write(folder)
    expected = expected_codes(model, codes)
    inputs = {
        port.name: Stream(1, [_bits(frame_bytes(values, port.code_bytes)[0], 8)])
        for port, values in zip(network.inputs, codes.values(), strict=True)
    }
    outputs = {}
    for port in network.outputs:
        beats, last = frame_bytes(expected[port.tensor], port.code_bytes)
        outputs[port.name] = Stream(1, [np.concatenate([_bits(beats, 8), last], axis=1)])
    shown = {}
    for edge in network.probed:
        profile = edge.layout.profile
        tokens = picture_tokens(expected[edge.tensor], profile.lanes, profile.ch_par)
        shown[f"{edge.stream}_probe"] = Stream(edge.codes.bits, tokens)
    device = Device("network_core", {}, inputs, outputs | shown, frozenset(shown))
    return Bench([device], folder, sources)


def _bits(values: np.ndarray, bits: int) -> np.ndarray:
    split = (values[..., None].astype(np.int64) >> np.arange(bits)) & 1
    return split.reshape(len(values), -1)


def timing_differences(graph: StreamGraph, run: Run, frames: int = 3) -> list[str]:
    """Lanes whose tokens came in other clocks than predicted, in a run without stalls."""
    network = build_rtl(graph.model(), "network", probes=True)
    predicted = rtl_schedule(network, frames, trace=True)
    found = []
    for (_, port, lane), cycles in run.cycles.items():
        name = port.removesuffix("_probe")
        stream = predicted.stream.get(f"{name}_{lane}") or predicted.stream[name]
        if list(cycles) != list(stream.writes):
            found.append(f"{name} {lane}: {cycles[:3]}, predicted {stream.writes[:3]}")
    return found


def tasks_without_weights() -> StreamGraph:
    """A residual shape of pools, additions, requantisations, forks and adapters."""
    g = StreamGraph(3)
    x = g.input((6, 8, 5), UINT8, lanes=2, ch_par=3)
    a, b = g.fork("split", x, 2)
    a = g.requant("halve", a, shift_to(INT8, 1))
    window_pool = g.pool("pool", g.adapt(a, 2, 2), "max", (3, 3), (1, 1), (1, 1, 1, 1), 2, 2)
    b = g.adapt(b, 4, 5)
    affine = AffineStage((3, 4, 5, 6, 7), (1, 2, 3, 4, 5), 4, -128, 127)
    b = g.requant("affine", b, Requantiser((affine,)))
    total = g.add("join", g.adapt(window_pool, 1, 5), b, (0, 1), shift_to(INT8, 1))
    g.output(g.global_pool("mean", total, "average", shift_to(INT8, 5)))
    return g


def residual_network(graph: StreamGraph) -> StreamGraph:
    """A residual block with a merged downsample, one with a plain skip, ragged factors."""
    g = graph
    x = g.input((6, 8, 3), UINT8, lanes=1, ch_par=3)
    (x,) = g.conv(*("first", x, g.random_weights(5, 3, 3, 3)), pads=(1, 1, 1, 1), factors=(2, 3, 2))
    out, down = g.conv(
        *("conv0", x, g.random_weights(6, 3, 3, 5)),
        **{"stride": (2, 2), "pads": (1, 1, 1, 1), "factors": (3, 2, 2)},
        **{"ds_weights": g.random_weights(6, 1, 1, 5), "ds_tap": (1, 1)},
    )
    (x,) = g.conv(
        *("conv1", out, g.random_weights(6, 3, 3, 6)),
        **{"pads": (1, 1, 1, 1), "factors": (2, 2, 1), "skip": down, "skip_form": "accumulator"},
    )
    x = g.global_pool("mean", x, "average", shift_to(INT8, 3))
    (x,) = g.conv("classifier", x, g.random_weights(4, 1, 1, 6), factors=(1, 2, 1))
    g.output(x)
    return g


@pytest.mark.parametrize("kind", [StreamGraph, pytest.param(FusedGraph, marks=pytest.mark.slow)])
def test_residual_network(kind, tmp_path):
    """Streamed weights, and weights inside the convolutions."""
    graph = residual_network(kind(4))
    bench = network_bench(graph, tmp_path)
    runs = bench.run(stalled=2, idle=3000)
    assert same(runs, bench) == []
    assert timing_differences(graph, runs[0]) == []


def same(runs: list[Run], bench: Bench) -> list[str]:
    """Differences of all runs."""
    return [text for run in runs for text in bench.differences(run)]


def test_network_without_weights(tmp_path):
    graph = tasks_without_weights()
    bench = network_bench(graph, tmp_path)
    runs = bench.run(stalled=4, idle=2000)
    assert same(runs, bench) == []
    assert timing_differences(graph, runs[0]) == []
    # A run with stalls is no such run.
    assert any(timing_differences(graph, run) for run in runs[1:])


def test_fifo_modules():
    """Registers, shift registers, LUTRAM, block RAM, as depth and width grow."""
    found = [fifo_module(*shape) for shape in ((2, 300), (16, 8), (64, 70), (200, 8), (600, 8))]
    assert found == ["fifo_register", "fifo_srl", "fifo_lutram", "fifo_lutram", "fifo_bram"]


def test_refuses_everything_at_once(monkeypatch):
    """Operators without RTL are named, all of them, before anything is written."""
    from finn_resnet.generation.rtl import registry

    for op_type in ("StreamFork", "StreamPool"):
        monkeypatch.delitem(registry.GENERATORS, op_type)
    with pytest.raises(UserError, match=r"'split'.*StreamFork.*'mean'.*StreamPool"):
        build_rtl(tasks_without_weights().model(), "network")


WITHOUT_RTL = {"StreamConcat", "StreamGroupedConv", "StreamResize"}


def test_every_hardware_operator_has_rtl():
    """All operators that a graph between the host nodes may hold, but for those refused by name."""
    hardware = {
        name
        for name, op in custom_op.items()
        if op.__module__.startswith("finn_resnet.") and op.role is not SearchRole.HOST
    }
    assert {"StreamConv", "StreamPool"} < hardware
    assert hardware - set(GENERATORS) == WITHOUT_RTL
