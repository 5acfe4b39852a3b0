"""The concatenation task against NumPy, and branches of unequal latency in front of it."""

from __future__ import annotations

import numpy as np

from finn_resnet.generation.project import generate_project
from finn_resnet.numerics.ranges import Range
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from tests.stream_graphs import (
    INT8,
    UINT8,
    StreamGraph,
    assert_bit_exact,
    expected_codes,
    shift_to,
)


def concatenations() -> StreamGraph:
    """Two to four parts of unequal code ranges, ragged tokens and lanes, with requantisers."""
    graph = StreamGraph(4)
    cases = [
        ([4, 2], 1, 2, None),
        ([6, 3, 5], 2, 3, shift_to(INT8, 1)),
        ([2, 2, 2, 1], 3, 2, shift_to(UINT8, 0)),
        ([8, 7], 4, 4, None),
    ]
    for index, (channels, lanes, ch_par, requant) in enumerate(cases):
        kinds = (UINT8, INT8, Range(-8, 7), Range(0, 15))
        parts = [
            graph.input((3, 5, count), kinds[(index + part) % 4])
            for part, count in enumerate(channels)
        ]
        graph.output(graph.concat(f"join{index}", parts, lanes, ch_par, requant))
    return graph


def test_parts_lanes_and_requantisers(cxx, tmp_path):
    assert_bit_exact(concatenations(), tmp_path, sanitise=True)


def test_swapped_channels_are_noticed(cxx, tmp_path):
    """Negative control: the order of the channels is what the task is about."""
    graph = concatenations()
    model, frames = graph.model(), graph.frames(3)
    project = generate_project(model, tmp_path, "network")
    header = project.directory / "include" / "elementwise.hpp"
    text = header.read_text()
    header.write_text(
        text.replace("codes[k] = token.v[k];", "codes[k] = token.v[C::ch_par - 1 - k];")
    )
    run = run_codes(compile_project(project.directory), frames)
    expected = expected_codes(model, frames)
    assert any(
        not np.array_equal(run.outputs[port.name], expected[port.tensor])
        for port in project.outputs
    )
