"""FIFOs of the RTL library: order, capacity, latency, under random stalls."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rtl.bench import Bench, Device, Stream
from tests.rtl.verilator import lint

# Module, width, depth, cycles from a token's writing to its reading.
SHAPES = [
    ("fifo_register", 8, 1, 1),
    ("fifo_register", 13, 2, 1),
    ("fifo_srl", 8, 2, 1),
    ("fifo_srl", 5, 3, 1),
    ("fifo_srl", 70, 16, 1),
    ("fifo_srl", 4, 33, 1),
    ("fifo_lutram", 14, 32, 1),
    ("fifo_lutram", 7, 45, 1),
    ("fifo_lutram", 9, 64, 1),
    ("fifo_lutram", 3, 150, 3),
    ("fifo_bram", 36, 4, 3),
    ("fifo_bram", 9, 63, 3),
    ("fifo_bram", 18, 64, 3),
    ("fifo_bram", 8, 100, 3),
]


def fifo(module: str, width: int, depth: int, tokens: int = 300) -> Device:
    """A FIFO and the tokens that pass it."""
    codes = np.random.default_rng(depth).integers(0, 2, (tokens, width))
    stream = Stream(1, [codes])
    return Device(module, {"WIDTH": width, "DEPTH": depth}, {"in": stream}, {"out": stream})


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """All shapes in one program."""
    devices = [fifo(*shape[:3]) for shape in SHAPES]
    return Bench(devices, tmp_path_factory.mktemp("fifos"))


@pytest.mark.slow
def test_tokens_keep_their_order(bench):
    runs = bench.check(stalled=8)
    for index, (_, _, depth, latency) in enumerate(SHAPES):
        written, read = (runs[0].cycles[index, port, 0] for port in ("in", "out"))
        assert read[0] - written[0] == latency
        if depth > latency:
            assert (np.diff(read) == 1).all(), "a token a cycle when nothing stalls"


@pytest.mark.slow
def test_holds_depth_tokens(bench):
    """Under stalls the number of tokens inside reaches DEPTH and never exceeds it."""
    runs = bench.run(stalled=12, seed=20)
    for index, (module, _, depth, _) in enumerate(SHAPES):
        most = 0
        for run in runs:
            written, read = (run.cycles[index, port, 0] for port in ("in", "out"))
            held = np.arange(1, len(written) + 1) - np.searchsorted(read, written)
            most = max(most, held.max())
        assert most == depth, f"{module} of {depth} tokens held {most}"


@pytest.mark.slow
def test_a_wrong_token_is_found(bench, tmp_path):
    """Negative control: a FIFO of 300 tokens is expected to change one of them, or to lose one."""
    device = fifo("fifo_srl", 8, 4)
    changed = device.inputs["in"].tokens[0].copy()
    changed[17, 3] ^= 1
    devices = [
        Device(device.module, device.parameters, device.inputs, {"out": Stream(1, [expected])})
        for expected in (changed, changed[:-1])
    ]
    bench = Bench(devices, tmp_path)
    found = bench.differences(bench.run(stalled=0)[0])
    assert [text.split("out[0]: ")[1].split(" is")[0] for text in found] == [
        "token 17",
        "300 tokens, expected 299",
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}_{shape[2]}")
def test_lint(shape):
    assert lint(shape[0], {"WIDTH": shape[1], "DEPTH": shape[2]}) == ""
