"""The search lands on the paper's figures, stays in the budget, and says why it cannot."""

import copy
from math import ceil

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import load_board
from finn_resnet.errors import UserError
from finn_resnet.parallelism import AnnotateParallelism, estimate
from finn_resnet.parallelism.milp import capacity_of
from finn_resnet.transformation import InsertWidthAdapters
from finn_resnet.transformation.stream_profile import input_profile, output_profile
from tests.hardware_graphs import HardwareGraph, resnet


@pytest.mark.parametrize(
    ("blocks", "board_name", "cycles", "dsp"),
    [
        (1, "KV260", 8192, 773),
        (1, "Ultra96", 16384, 360),
        (3, "KV260", 32768, 684),
        (3, "Ultra96", 65536, 318),
    ],
)
def test_paper_mode_lands_on_the_papers_intervals(blocks, board_name, cycles, dsp):
    board = load_board(board_name)
    search = AnnotateParallelism(board, "paper")
    model = resnet(blocks).transform(search)
    assert search.solution.cycles == cycles
    assert search.solution.resources.fits(capacity_of(board, {}))
    assert search.solution.resources.dsp <= dsp
    found = estimate(model, board)
    assert found.cycles_per_frame == cycles
    assert found.fps == pytest.approx(board.clock_mhz * 1e6 / cycles)
    for node in model.get_nodes_by_op_type("StreamConv"):
        och, och_par, ich_par, ow, ow_par = getCustomOp(node).attrs(
            "och", "och_par", "ich_par", "ow", "ow_par"
        )
        assert och % och_par == 0 and ich_par == 1 and ow_par == min(2, ow)


def test_paper_mode_moves_small_convolutions_to_luts_only_where_dsps_run_out():
    def in_luts(board_name):
        model = resnet(1).transform(AnnotateParallelism(load_board(board_name), "paper"))
        nodes = model.get_nodes_by_op_type("StreamConv")
        return [n.name for n in nodes if getCustomOp(n).get_nodeattr("mac_style") == "lut"]

    assert in_luts("KV260") == []
    moved = in_luts("Ultra96")
    assert moved and not {"layer1_0_conv0", "layer1_0_conv1", "layer3_0_conv1"} & set(moved)


def test_full_mode_beats_paper_mode_within_the_same_budget(small_net):
    board = load_board("KV260")
    cycles = {}
    for mode in ("paper", "full"):
        search = AnnotateParallelism(board, mode)
        small_net.transform(search)
        assert search.solution.resources.fits(capacity_of(board, {}))
        assert search.solution.cycles_lower_bound <= search.solution.cycles
        assert 0 <= search.solution.resource_gap + 1e-9 < 0.5
        cycles[mode] = search.solution.cycles
    assert cycles["full"] < cycles["paper"]


def test_the_search_is_deterministic(small_net):
    board = load_board("Ultra96")
    chosen = []
    for _ in range(2):
        search = AnnotateParallelism(board, target_fps=50000)
        small_net.transform(search)
        chosen.append(search.solution.factors)
    assert chosen[0] == chosen[1]


def test_every_node_agrees_with_its_neighbours_up_to_adapters(small_net, board):
    model = small_net.transform(AnnotateParallelism(board, target_fps=50000))
    model = model.transform(InsertWidthAdapters())
    checked = 0
    for node in model.graph.node:
        assert getCustomOp(node).verify_node() == []
        for index, tensor in enumerate(node.input):
            producer = model.find_producer(tensor)
            if producer is None:
                continue
            source = output_profile(producer, list(producer.output).index(tensor))
            sink = input_profile(node, index)
            if source is not None and sink is not None:
                assert source == sink
                checked += 1
        if node.op_type == "ParameterStream":
            conv = getCustomOp(model.find_consumer(node.output[0]))
            oh, ow, ow_par = conv.attrs("oh", "ow", "ow_par")
            op = getCustomOp(node)
            assert op.get_nodeattr("repeats") == oh * ceil(ow / ow_par)
            assert op.attrs("och_par", "ich_par") == conv.attrs("och_par", "ich_par")
        if node.op_type == "WindowBuffer":
            conv = getCustomOp(model.find_consumer(node.output[0]))
            assert getCustomOp(node).attrs("ich_par", "ow_par") == conv.attrs("ich_par", "ow_par")
    assert checked > 10


def test_annotating_again_replaces_earlier_adapters(small_net):
    ultra, kria = load_board("Ultra96"), load_board("KV260")
    once = small_net.transform(AnnotateParallelism(ultra, "paper"))
    detour = small_net.transform(AnnotateParallelism(kria, target_fps=50000))
    detour = detour.transform(InsertWidthAdapters())
    twice = detour.transform(AnnotateParallelism(ultra, "paper"))
    assert not twice.get_nodes_by_op_type("StreamWidthAdapter")
    assert twice.model.SerializeToString() == once.model.SerializeToString()


def test_forks_and_additions_follow_their_long_branch(board):
    graph = HardwareGraph(16, 16, 8)
    long, skip = graph.fork("fork", graph.conv("first", graph.input, 8)[0])
    x = graph.conv("second", graph.conv("third", long, 8)[0], 8)[0]
    model = graph.finish(graph.conv("last", graph.add("join", x, skip), 4)[0])
    model = model.transform(AnnotateParallelism(board, target_fps=20000))
    ops = {node.name: getCustomOp(node) for node in model.graph.node}
    assert ops["fork"].attrs("lanes", "ch_par") == ops["first"].attrs("ow_par", "och_par")
    assert ops["join"].attrs("lanes", "ch_par") == ops["second"].attrs("ow_par", "och_par")
    adapted = model.transform(InsertWidthAdapters())
    assert estimate(adapted, board).totals == estimate(model, board).totals


def test_target_takes_no_more_than_it_needs(small_net):
    board = load_board("KV260")
    slow = AnnotateParallelism(board, target_fps=2000)
    fast = AnnotateParallelism(board, target_fps=20000)
    for search in (slow, fast):
        small_net.transform(search)
    assert slow.solution.cycles <= board.clock_mhz * 1e6 / 2000
    assert fast.solution.cycles <= board.clock_mhz * 1e6 / 20000
    assert slow.solution.resources.lut < fast.solution.resources.lut
    half_clock = AnnotateParallelism(board, clock_mhz=125.0, target_fps=20000)
    small_net.transform(half_clock)
    assert half_clock.solution.cycles <= 125e6 / 20000


def test_unreachable_target_names_the_resource_and_the_best_rate(small_net):
    with pytest.raises(UserError, match=r"best reachable is \d+ frames") as error:
        small_net.transform(AnnotateParallelism(load_board("Ultra96"), target_fps=300000))
    assert any(name in str(error.value) for name in ("dsp", "lut", "bram36"))
    assert "conv" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(UserError, match="no legal factors make input_dma that fast"):
        small_net.transform(AnnotateParallelism(load_board("KV260"), target_fps=3e6))


def test_a_budget_nothing_fits_names_what_binds(small_net):
    with pytest.raises(UserError, match=r"no parallelism fits.*lut.*cap"):
        small_net.transform(AnnotateParallelism(load_board("Ultra96"), caps={"lut": 0.01}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "papre"}, "did you mean 'paper'"),
        ({"caps": {"lut": 1.2}}, "cap lut = 1.2"),
        ({"caps": {"dsp": 0}}, "cap dsp = 0"),
        ({"caps": {"luts": 0.5}}, "did you mean 'lut'"),
        ({"clock_mhz": 0.0}, "clock_mhz"),
        ({"target_fps": -1.0}, "target_fps = -1.0"),
    ],
)
def test_bad_arguments_are_refused(small_net, arguments, message):
    before = copy.deepcopy(small_net)
    with pytest.raises(UserError, match=message):
        small_net.transform(AnnotateParallelism(load_board("KV260"), **arguments))
    assert small_net.model == before.model


def test_full_mode_builds_buffers_of_rows_and_embeds_weights(small_net):
    board = load_board("KV260")

    def styles(mode, **options):
        model = small_net.transform(AnnotateParallelism(board, mode, **options))
        buffers = {n.name: getCustomOp(n) for n in model.get_nodes_by_op_type("WindowBuffer")}
        assert all(op.verify_node() == [] for op in buffers.values())
        return {name: op.get_nodeattr("buffer_style") for name, op in buffers.items()}

    assert set(styles("paper").values()) == {"slices"}
    assert set(styles("full", fuse_streams=False).values()) == {"slices"}
    model = small_net.transform(AnnotateParallelism(board, "full"))
    for op_type in ("StreamConv", "ParameterStream"):
        for node in model.get_nodes_by_op_type(op_type):
            assert getCustomOp(node).get_nodeattr("mem_mode") == "internal_embedded"
    full = styles("full")
    assert full["layer1_0_conv1_buffer"] == "rows" and full["classifier_buffer"] == "slices"
