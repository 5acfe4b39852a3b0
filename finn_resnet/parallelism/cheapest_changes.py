"""What would make a design a step faster: a cap, fewer bits in a layer, another board.

Each answer is a solved choice problem (``choice_problem``) at the cycle count aimed for, so that a
change that is named does reach it by the cost model. One that is not named may exist all the same:
the solver stops at a node limit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping

import numpy as np
from qonnx.core.datatype import DataType
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import RESOURCE_NAMES, Board, known_boards, load_board
from finn_resnet.parallelism.milp import (
    DEFAULT_CAPS,
    Change,
    ParallelismSearch,
    ParallelismSolution,
)

STEP = 0.9
"""Cycles of the design looked for, relative to those of the one found."""
MOST_CHANGES = 3
_FEWER_BITS = 4
# Layers for which fewer bits are tried: the largest users of the resource that binds.
_LAYERS = 2
# Resources whose caps are kept below the whole device to leave room for placement, not by need.
_CAPPED = ("lut", "bram36", "dsp")


def cheapest_changes(
    model: ModelWrapper,
    board: Board,
    search: ParallelismSearch,
    found: ParallelismSolution,
    caps: Mapping[str, float],
) -> list[Change]:
    """At most `MOST_CHANGES` changes that allow `STEP` times the cycles of ``found``.

    Higher caps come first, by the points they rise, then fewer bits in a layer, then other boards
    by their size. ``search`` is the one that gave ``found``; ``caps`` are shares (0 to 1).
    """
    limit = search.next_limit(math.floor(STEP * found.cycles))
    if limit is None:
        return []
    changes: list[Change] = []
    for kind in (
        _higher_caps(search, board, limit, caps),
        _fewer_bits(model, search, limit),
        _other_boards(search, board, limit, caps),
    ):
        for change in kind:
            changes.append(change)
            if len(changes) == MOST_CHANGES:
                return changes
    return changes


def _higher_caps(
    search: ParallelismSearch, board: Board, limit: int, caps: Mapping[str, float]
) -> Iterator[Change]:
    now = {**DEFAULT_CAPS, **caps}
    raised = []
    for name in _CAPPED:
        if now[name] >= 1:
            continue
        wider = search.with_budget(board, {**caps, name: 1.0})
        least = wider.least(name, limit)
        if least is None:
            continue
        share = getattr(least.resources, name) / wider.share_for_tasks(name)
        percent = math.ceil(100 * share / getattr(board.budget, name))
        points = percent - 100 * now[name]
        # Less than now: the solver gave up on what fits, which this cap does not mend.
        if points > 0:
            raised.append((points, f"cap {name} at {percent} % ({100 * now[name]:.0f} now)", least))
    for _, what, least in sorted(raised, key=lambda entry: entry[0]):
        yield Change(what, least.cycles)


def _fewer_bits(model: ModelWrapper, search: ParallelismSearch, limit: int) -> Iterator[Change]:
    for name in search.largest_users(limit)[:_LAYERS]:
        node = model.get_node_from_name(name)
        if node is None or node.op_type != "StreamConv":
            continue
        bits = model.get_tensor_datatype(node.input[1]).bitwidth()
        if bits <= _FEWER_BITS:
            continue
        narrower = search.with_graph(_with_weight_bits(model, name, _FEWER_BITS))
        found = narrower.least("lut", limit)
        if found is not None:
            yield Change(f"weights of {name} in {_FEWER_BITS} bits ({bits} now)", found.cycles)


def _with_weight_bits(model: ModelWrapper, name: str, bits: int) -> ModelWrapper:
    """A copy whose layer ``name`` has its weights rounded down to ``bits`` bits, for its cost."""
    narrow = copy.deepcopy(model)
    layer = narrow.get_node_from_name(name)
    stream = layer.input[1]
    memory = narrow.find_producer(stream)
    weights = narrow.get_initializer(memory.input[0])
    shift = narrow.get_tensor_datatype(stream).bitwidth() - bits
    narrow.set_initializer(memory.input[0], np.floor(weights / 2.0**shift).astype(np.float32))
    for tensor in (memory.input[0], stream):
        narrow.set_tensor_datatype(tensor, DataType[f"INT{bits}"])
    narrow.get_customop_wrapper(memory).set_nodeattr("bits", bits)
    narrow.get_customop_wrapper(layer).set_nodeattr("weight_bits", bits)
    return narrow


def _other_boards(
    search: ParallelismSearch, board: Board, limit: int, caps: Mapping[str, float]
) -> Iterator[Change]:
    others = [load_board(name) for name in known_boards() if name != board.name]
    for other in sorted(others, key=lambda candidate: candidate.budget.lut):
        budgets = (getattr(other.budget, n) >= getattr(board.budget, n) for n in RESOURCE_NAMES)
        if other.budget.lut <= board.budget.lut and not all(budgets):
            continue
        found = search.with_budget(other, caps).least("lut", limit)
        if found is not None:
            yield Change(f"board {other.name} ({board.name} now)", found.cycles)
            return
