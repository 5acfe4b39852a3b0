"""The occupancy curve is the exact number of tokens, at most over each span."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.report.occupancy import draw_occupancy, occupancy_curve


def held_after(writes: list[int], reads: list[int], cycle: int) -> int:
    return sum(t <= cycle for t in writes) - sum(t <= cycle for t in reads)


@st.composite
def stream_traces(draw) -> tuple[list[int], list[int]]:
    """Writes and reads of a stream in which every token is read after it was written."""
    writes = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=20, unique=True)))
    reads: list[int] = []
    for write in writes[: draw(st.integers(0, len(writes)))]:
        reads.append(max([write, *reads]) + draw(st.integers(1, 8)))
    return writes, reads


@given(stream_traces(), st.integers(1, 100))
def test_each_span_holds_the_most_tokens_of_its_cycles(trace, points):
    writes, reads = trace
    curve = occupancy_curve(writes, reads, points)
    end = max(writes + reads)
    assert 0 < len(curve["cycles"]) <= points
    assert curve["cycles"][0] == 0
    stops = [*curve["cycles"][1:], end + 1]
    for start, stop, tokens in zip(curve["cycles"], stops, curve["tokens"], strict=True):
        # What the span begins with counts too: it was held until the first event in it.
        cycles = range(start - 1, stop)
        assert tokens == max(held_after(writes, reads, cycle) for cycle in cycles)


def test_a_full_stream_that_passes_a_token_on_is_not_fuller():
    assert max(occupancy_curve([0, 5, 10], [5, 10])["tokens"]) == 1


def test_an_unused_stream_has_no_curve():
    assert occupancy_curve([], []) == {"cycles": [], "tokens": []}


def test_every_stream_is_drawn_with_its_most_and_its_depth():
    streams = [
        {"name": name, "depth": 8, "occupancy": occupancy_curve(range(count), [])}
        for name, count in (("a<b", 3), ("c", 8))
    ]
    drawing = draw_occupancy(streams)
    assert re.findall(r"up to (\d+) of (\d+) tokens", drawing) == [("3", "8"), ("8", "8")]
    assert "a&lt;b" in drawing
