"""What is said to make a design faster does so when it is done."""

from __future__ import annotations

import dataclasses
import re

import pytest

from finn_resnet.boards import Board, Resources, load_board
from finn_resnet.parallelism import AnnotateParallelism
from finn_resnet.parallelism.cheapest_changes import (
    MOST_CHANGES,
    STEP,
    _with_weight_bits,
    cheapest_changes,
)
from finn_resnet.parallelism.milp import ParallelismSearch
from finn_resnet.transformation import LowerToHardware
from tests.qonnx_models import residual_network

# Binds by DSPs and LUTs on a network of two small blocks.
BUDGET = Resources(dsp=40, lut=20_000, ff=60_000, bram36=40)


@pytest.fixture(scope="module")
def graph():
    return residual_network().transform(LowerToHardware())


@pytest.fixture(scope="module")
def board():
    return dataclasses.replace(load_board("Ultra96"), name="small", budget=BUDGET)


def found_changes(graph, board: Board, caps):
    search = ParallelismSearch(graph, board, "full", caps)
    found = search.fastest()
    return found, cheapest_changes(graph, board, search, found, caps)


def test_every_change_reaches_what_it_says(graph, board):
    found, changes = found_changes(graph, board, {})
    assert 0 < len(changes) <= MOST_CHANGES
    for change in changes:
        assert change.cycles <= STEP * found.cycles
        if cap := re.match(r"cap (\w+) at (\d+) %", change.what):
            caps = {cap[1]: int(cap[2]) / 100}
            again = ParallelismSearch(graph, board, "full", caps).least(cap[1], change.cycles)
        elif layer := re.match(r"weights of (\S+) in (\d) bits", change.what):
            narrow = _with_weight_bits(graph, layer[1], int(layer[2]))
            again = ParallelismSearch(narrow, board).least("lut", change.cycles)
        else:
            name = re.match(r"board (\S+)", change.what)[1]
            again = ParallelismSearch(graph, load_board(name)).least("lut", change.cycles)
        assert again is not None and again.cycles <= change.cycles, change


def test_kinds_come_by_what_they_take(graph, board):
    _, changes = found_changes(graph, board, {"lut": 0.5})
    kinds = [change.what.split()[0] for change in changes]
    assert kinds == sorted(kinds, key=["cap", "weights", "board"].index)
    assert kinds[0] == "cap"


def test_a_cap_that_does_not_bind_is_not_named(graph, board):
    _, changes = found_changes(graph, board, {"lut": 0.5, "bram36": 0.8})
    assert changes[0].what.startswith("cap lut")
    assert not any(change.what.startswith("cap bram36") for change in changes)


def test_suggestions_are_kept_with_the_search(graph, board):
    first, second, plain = (
        AnnotateParallelism(board, "full", suggest=suggest) for suggest in (True, True, False)
    )
    for search in (first, second, plain):
        graph.transform(search)
    assert first.solution.changes and first.solution.changes == second.solution.changes
    assert plain.solution.changes == ()
