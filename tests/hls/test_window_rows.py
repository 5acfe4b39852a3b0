"""Window buffers built of row tasks against NumPy, untimed and cycle by cycle."""

from __future__ import annotations

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.simulation.size_streams import SizeStreams
from tests.stream_graphs import INT8, UINT8, FusedGraph, StreamGraph, assert_bit_exact

pytestmark = pytest.mark.slow

# kernel, stride, pads (top, left, bottom, right), ow_par, in_lanes
GEOMETRIES = [
    ((3, 3), (1, 1), (1, 1, 1, 1), 1, 1),
    ((3, 3), (1, 1), (1, 1, 1, 1), 2, 2),
    ((3, 3), (1, 1), (1, 1, 1, 1), 2, 1),
    ((3, 3), (1, 1), (1, 1, 1, 1), 3, 3),
    ((3, 3), (1, 1), (1, 1, 1, 1), 7, 7),
    ((3, 3), (2, 2), (1, 1, 1, 1), 1, 2),
    ((3, 3), (2, 2), (1, 1, 1, 1), 2, 4),
    ((3, 3), (2, 2), (1, 1, 1, 1), 2, 1),
    ((3, 3), (2, 2), (0, 0, 1, 1), 3, 2),
    ((2, 2), (2, 2), (0, 0, 0, 0), 2, 2),
    ((5, 4), (1, 1), (2, 1, 2, 2), 2, 2),
    ((3, 2), (1, 1), (0, 0, 0, 0), 2, 1),
    ((2, 3), (2, 1), (1, 2, 0, 0), 4, 2),
]


@pytest.mark.parametrize("ch_par", [1, 2, 5])
def test_pools_over_row_windows(ch_par, tmp_path):
    graph = FusedGraph(ch_par)
    for index, (kernel, stride, pads, ow_par, in_lanes) in enumerate(GEOMETRIES):
        x = graph.input((6, 7, 5), (UINT8, INT8)[index % 2], lanes=in_lanes, ch_par=ch_par)
        window = graph.window(
            f"pool{index}", x, kernel, stride, pads, ch_par, ow_par, in_lanes=in_lanes, pad_value=3
        )[0]
        pooled = graph._pool_node(
            f"pool{index}", window, x, "max", kernel, stride, pads, ch_par, ow_par, 1, None
        )
        graph.output(pooled)
    for node in graph.model().get_nodes_by_op_type("WindowBuffer"):
        assert getCustomOp(node).get_nodeattr("buffer_style") == "rows"
        assert getCustomOp(node).verify_node() == []
    assert_bit_exact(graph, tmp_path, sanitise=True)


def residual_block(graph: StreamGraph, shape, factors, lanes: int) -> None:
    """Two convolutions, the first forwarding the picture to the second's accumulator."""
    ch = shape[2]
    x = graph.input(shape, UINT8, lanes=lanes, ch_par=factors[1])
    first, skip = graph.conv(
        "conv1",
        x,
        graph.random_weights(ch, 3, 3, ch),
        pads=(1, 1, 1, 1),
        factors=factors,
        in_lanes=lanes,
        forward=True,
    )
    (second,) = graph.conv(
        "conv2",
        first,
        graph.random_weights(ch, 3, 3, ch),
        pads=(1, 1, 1, 1),
        factors=factors,
        skip=skip,
        skip_form="accumulator",
    )
    graph.output(second)


@pytest.mark.parametrize(("factors", "lanes"), [((2, 1, 1), 1), ((3, 2, 2), 2), ((2, 3, 3), 3)])
def test_forwarded_skip_is_bit_exact(factors, lanes, tmp_path):
    graph = FusedGraph(7)
    residual_block(graph, (7, 8, 6), factors, lanes)
    assert_bit_exact(graph, tmp_path, sanitise=True)


def test_rows_are_as_fast_as_slices():
    reports = []
    for kind in (StreamGraph, FusedGraph):
        graph = kind(7)
        residual_block(graph, (7, 8, 6), (2, 3, 3), 3)
        sizing = SizeStreams(frames=4)
        graph.model().transform(sizing)
        reports.append(sizing.report)
    slices, rows = reports
    assert rows.sized_period <= slices.sized_period
    assert rows.sized_bits < slices.sized_bits


def test_a_style_the_geometry_does_not_allow_is_named():
    graph = StreamGraph(9)
    x = graph.input((4, 4, 2), UINT8)
    graph.window("point", x, (1, 1), (1, 1), (0, 0, 0, 0), 1, 1)
    (node,) = graph.model().get_nodes_by_op_type("WindowBuffer")
    op = getCustomOp(node)
    op.set_nodeattr("buffer_style", "rows")
    assert "two rows" in op.verify_node()[0]
