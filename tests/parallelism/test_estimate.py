"""The estimate of a graph adds up, names the bottleneck, and follows the graph's own streams."""

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import Resources, load_board, total
from finn_resnet.parallelism import AnnotateParallelism, ApplyFolding, estimate
from finn_resnet.transformation import InsertWidthAdapters, SetStreamDepths

BOARD = load_board("KV260")


def test_layers_add_up_to_the_searchs_own_figures(small_net, board):
    search = AnnotateParallelism(board, target_fps=50000)
    found = estimate(small_net.transform(search), board)
    summed = total(Resources(e.dsp, e.lut, e.ff, e.bram36, e.uram) for e in found.layers)
    assert found.totals.as_tuple() == summed.as_tuple()
    assert found.totals.low == total(Resources(**e.low) for e in found.layers)
    assert found.totals.dsp == search.solution.resources.dsp
    assert found.totals.bram36 == search.solution.resources.bram36
    # Layers are rounded to whole LUTs one by one.
    assert found.totals.lut == pytest.approx(search.solution.resources.lut, abs=len(found.layers))
    assert found.cycles_per_frame == search.solution.cycles


def test_adapters_and_depths_change_nothing_when_they_are_the_expected_ones(small_net):
    model = small_net.transform(AnnotateParallelism(BOARD, target_fps=50000))
    full = model.transform(InsertWidthAdapters()).transform(SetStreamDepths())
    assert estimate(full, BOARD).totals == estimate(model, BOARD).totals
    assert estimate(full, BOARD).layers == estimate(model, BOARD).layers


def test_deeper_streams_cost_more(small_net):
    model = small_net.transform(InsertWidthAdapters()).transform(SetStreamDepths())
    before = estimate(model, BOARD).totals
    conv = getCustomOp(model.get_nodes_by_op_type("StreamConv")[0])
    conv.set_nodeattr("out_depths", [512])
    assert estimate(model, BOARD).totals.lut > before.lut


def test_the_slowest_layer_sets_the_rate(small_net):
    folding = {
        "Defaults": {"och_par": 16, "ich_par": 16, "ow_par": 1},
        "layer1_0_conv1": {"och_par": 1, "ich_par": 1},
    }
    found = estimate(small_net.transform(ApplyFolding(folding)), BOARD)
    assert found.bottleneck == "layer1_0_conv1"
    assert found.cycles_per_frame == 16 * 16 * 8 * 8
    assert found.fps == pytest.approx(250e6 / 16384)
    assert estimate(small_net, BOARD, clock_mhz=100.0).fps < found.fps


def test_the_graph_is_left_alone(small_net):
    before = small_net.model.SerializeToString()
    estimate(small_net, BOARD)
    assert small_net.model.SerializeToString() == before


def test_rows_carry_what_the_report_shows(small_net):
    layers = {e.name: e for e in estimate(small_net, BOARD).layers}
    assert set(layers) >= {"input_dma", "conv0", "conv0_buffer", "conv0_parameters", "output_dma"}
    assert layers["conv0"].mac_style == "dsp" and layers["conv0"].mem_style == ""
    assert layers["conv0_parameters"].mem_style == "bram"
    assert layers["conv0"].dsp == 9
    assert all(e.cycles > 0 for e in layers.values())


def test_writers_of_one_lane_at_a_time_get_a_burst(small_net):
    folding = {
        "input_dma": {"ch_par": 1, "lanes": 2},
        "conv0": {"och_par": 2, "ow_par": 2},
        "layer1_0_conv0": {"ich_par": 1, "ow_par": 3},
    }
    model = small_net.transform(ApplyFolding(folding)).transform(InsertWidthAdapters())
    ops = {n.name: getCustomOp(n) for n in model.transform(SetStreamDepths()).graph.node}
    assert ops["input_dma"].depths() == [3]
    # Two lanes to three share no column, so a lane holds the pixel's eight channels.
    assert ops["layer1_0_conv0_buffer_adapter0"].depths() == [8]
