"""Algorithm 1 by itself, and the search against it where only DSPs bind."""

import pytest

from finn_resnet.boards import load_board
from finn_resnet.parallelism import AnnotateParallelism
from finn_resnet.parallelism.conv_cost import ConvFactors, ConvShape, conv_cycles, conv_dsp
from finn_resnet.parallelism.network import read_network
from finn_resnet.parallelism.node_shapes import conv_shape
from finn_resnet.parallelism.paper_balance import balance, parallel_macs, throughput
from tests.hardware_graphs import resnet


def _shapes(model):
    engines = read_network(model).engines
    return [conv_shape(model, e.node) for e in engines if e.node.op_type == "StreamConv"]


@pytest.mark.parametrize(
    ("blocks", "dsps", "cycles", "used"),
    [(1, 1248, 8192, 773), (3, 1248, 32768, 626), (3, 360, 65536, 318), (1, 386, 32768, 194)],
)
def test_the_papers_intervals_follow_from_dsps_alone(blocks, dsps, cycles, used):
    shapes = _shapes(resnet(blocks))
    chosen = balance(shapes, dsps)
    assert max(map(conv_cycles, shapes, chosen)) == cycles
    assert sum(map(conv_dsp, shapes, chosen)) == used


def test_the_search_agrees_with_the_closed_form():
    board = load_board("KV260")
    model = resnet(1)
    search = AnnotateParallelism(board, "paper")
    model.transform(search)
    closed = balance(_shapes(model), board.budget.dsp)
    names = [e.name for e in read_network(model).engines if e.node.op_type == "StreamConv"]
    found = [search.solution.factors[name] for name in names]
    assert [(f.och_par, f.ow_par) for f in found] == [(f.och_par, f.ow_par) for f in closed]


def test_throughput_is_the_inverse_of_the_cycles_where_factors_divide():
    shape = ConvShape(och=16, ich=16, oh=32, ow=32, fh=3, fw=3)
    factors = ConvFactors(och_par=8, ow_par=2)
    assert parallel_macs(shape, factors) == 9 * 8 * 2
    assert throughput(shape, factors) == 1 / conv_cycles(shape, factors)


def test_no_balance_within_too_few_dsps():
    assert balance(_shapes(resnet(1)), 20) is None
