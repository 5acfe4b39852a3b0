"""The RTL convolution against the NumPy execution of its node, under random stalls."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.numerics.ranges import Range
from tests.generation.rtl.conv_devices import conv_devices
from tests.generation.rtl.test_rtl_network import network_bench, same
from tests.hls.test_conv import random_conv
from tests.rtl.bench import Bench
from tests.rtl.verilator import LIBRARY, find_verilator
from tests.stream_graphs import INT8, UINT8, FusedGraph, StreamGraph, shift_to

PADS = (1, 1, 1, 1)


def compiled(graphs, folder, **options):
    """All convolutions of all graphs: circuits, and the bench they run in."""
    made = [pair for graph in graphs for pair in conv_devices(graph, **options)]
    source = folder / "convolutions.sv"
    source.write_text("".join(circuit.text for circuit, _ in made))
    return [c for c, _ in made], Bench([device for _, device in made], folder, [source])


def add_conv(graph, *arguments, **options):
    """A convolution whose outputs leave the graph."""
    for edge in graph.conv(*arguments, **options):
        graph.output(edge)


def skip_graph(kind):
    """Skip forms, with and without merged downsample, ragged factors and every alignment."""
    graph = kind(5)
    cases = [
        ("accumulator", (2, 1, 1), (0, 0), (1, 1), True),
        ("accumulator", (3, 2, 2), (2, 1), (1, 1), True),
        ("accumulator", (5, 3, 3), (0, 3), (1, 1), False),
        ("accumulator", (5, 4, 1), (9, 0), (1, 1), False),
        ("epilogue", (2, 1, 1), (1, 0), (1, 1), False),
        ("epilogue", (3, 2, 2), (0, 2), (1, 1), True),
        ("epilogue", (5, 4, 5), (0, 0), (1, 1), True),
        ("epilogue", (3, 2, 2), (0, 0), (181, 96), False),
        ("epilogue", (5, 1, 3), (2, 1), (3, 12345), True),
        ("epilogue", (2, 4, 1), (0, 1), (7, 1 << 14), False),
    ]
    chosen = cases[kind is FusedGraph :: 2]  # a program of all would compile for minutes
    for index, (form, factors, shifts, mults, merged) in enumerate(chosen):
        x, skip = graph.input((4, 5, 4), UINT8), graph.input((4, 5, 5), INT8)
        options = {"pads": PADS, "factors": factors, "shifts": shifts, "ds_tap": (1, 1)}
        add_conv(
            graph,
            *(f"{kind.__name__}skip{index}", x, graph.random_weights(5, 3, 3, 4)),
            **{"skip": skip, "skip_form": form, "mults": mults, **options},
            ds_weights=graph.random_weights(5, 1, 1, 4) if merged else None,
        )
    return graph


def requant_graph(kind):
    """Requantisers before the multiplier, in every way a rounding is prepared or not."""
    graph = kind(9)
    modes = ["ROUND", "FLOOR", "HALF_UP", "CEIL", "DOWN"]
    for index, mode in enumerate(modes[kind is FusedGraph :: 2]):
        x = graph.input((3, 4, 3), INT8)
        add_conv(
            graph,
            *(f"{kind.__name__}requant{index}", x, graph.random_weights(3, 3, 3, 3)),
            **{"pads": PADS, "factors": (2, 1 + index % 3, 2)},
            in_requant=shift_to(Range(-16, 15), 3, mode),
            requant=shift_to((UINT8, INT8)[index % 2], 5, mode),
        )
    return graph


def extreme_graph():
    """All weights -128 and activations at the ends of their range, in every pairing; the frames
    that show it are drawn with many extremes."""
    graph = FusedGraph(3)
    for index, factors in enumerate([(2, 2, 1), (3, 1, 2)]):
        for codes in (UINT8, INT8):
            x = graph.input((4, 4, 2), codes)
            name = f"extreme{index}_{'signed' if codes.signed else 'unsigned'}"
            weights = np.full((3, 3, 3, 2), -128)
            add_conv(graph, name, x, weights, pads=PADS, factors=factors)
    drawn = graph.frames
    graph.frames = lambda count: {
        name: np.stack([np.full_like(v[0], v.min()), np.full_like(v[0], v.max()), *v[2:]])
        for name, v in drawn(count).items()
    }
    return graph


KINDS = pytest.mark.parametrize("kind", [StreamGraph, FusedGraph])


@pytest.mark.slow
@KINDS
def test_random_shapes_and_factors(kind, tmp_path):
    graph = kind(len(kind.__name__))
    for index in range(4):
        random_conv(graph, f"conv{index}")
    compiled([graph], tmp_path)[1].check(stalled=4)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("make", [skip_graph, requant_graph])
def test_skips_downsamples_and_requantisers(make, kind, tmp_path):
    compiled([make(kind)], tmp_path)[1].check(stalled=4)


@pytest.mark.slow
def test_extreme_operands_and_mixed_multipliers(tmp_path):
    compiled([extreme_graph()], tmp_path, count=4)[1].check(stalled=1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"lut_tiles": 1}, {"mem_style": "bram", "lut_tiles": 2}])
def test_mixed_multipliers_and_block_rams(options, tmp_path):
    graph = FusedGraph(21)
    for index, factors in enumerate([(1, 1, 2), (3, 2, 3)]):
        x = graph.input((4, 5, 6), UINT8)
        weights = graph.random_weights(4, 3, 3, 6)
        add_conv(graph, f"conv{index}", x, weights, pads=PADS, factors=factors)
    compiled([graph], tmp_path, **options)[1].check(stalled=3)


class ResidualGraph(FusedGraph):
    """A residual block, then a strided one with a merged downsample; weights in the tasks."""

    def __init__(self) -> None:
        super().__init__(6)
        x = self.input((6, 7, 4), UINT8, lanes=2)
        options = {"pads": PADS, "factors": (2, 2, 2)}
        weights = [self.random_weights(4, 3, 3, 4) for _ in range(2)]
        first, skip = self.conv("conv0", x, weights[0], forward=True, out=UINT8, **options)
        options |= {"skip": skip, "skip_form": "accumulator", "shifts": (0, 4)}
        second = self.conv("conv1", first, weights[1], **options)[0]
        options = {"stride": (2, 2), "pads": PADS, "factors": (3, 1, 1), "ds_tap": (1, 1)}
        weights = [self.random_weights(6, n, n, 4) for n in (3, 1)]
        add_conv(self, "conv2", second, weights[0], ds_weights=weights[1], **options)

    def model(self):
        """The graph; its skip stream holds what the second convolution needs before it starts."""
        model = super().model()
        for node in model.get_nodes_by_op_type("WindowBuffer"):
            if len(node.output) > 1:
                getCustomOp(node).set_nodeattr("out_depths", [2, 100])
        return model


@pytest.mark.slow
def test_residual_network(tmp_path):
    bench = network_bench(ResidualGraph(), tmp_path)
    assert same(bench.run(stalled=3, idle=2000), bench) == []


@pytest.mark.slow
def test_wrong_rounding_mod_or_group_is_seen(tmp_path):
    changes = [
        ("MODE(0)", "MODE(1)"),
        ("MOD_BITS(3)", "MOD_BITS(1)"),
        (".OUT_GROUPS(3)", ".OUT_GROUPS(2)"),
    ]
    graph = FusedGraph(4)
    for index in range(len(changes)):
        x = graph.input((4, 4, 2), UINT8)
        weights = np.full((5, 3, 3, 2), 127) if index else graph.random_weights(5, 3, 3, 2)
        # A small shift has many ties.
        requant = None if index else shift_to(Range(-(1 << 15), (1 << 15) - 1), 2)
        add_conv(graph, f"conv{index}", x, weights, factors=(2, 2, 1), requant=requant)
    circuits, bench = compiled([graph], tmp_path)
    assert all(old in c.text for c, (old, _) in zip(circuits, changes, strict=True))
    wrong = (c.text.replace(*change) for c, change in zip(circuits, changes, strict=True))
    bench.sources[0].write_text("".join(wrong))
    assert len(bench.differences(bench.run(stalled=0)[0])) == len(changes)


@KINDS
def test_lint(kind, tmp_path):
    for graph in (skip_graph(kind), requant_graph(kind)):
        _, (circuit, _), *_ = conv_devices(graph)
        source = tmp_path / f"{circuit.layer.name}.sv"
        source.write_text(circuit.text)
        command = [find_verilator(), "--lint-only", "-Wall", f"-I{LIBRARY}", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "%" not in done.stderr, done.stderr
