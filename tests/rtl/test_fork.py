"""Forks of the RTL library under random stalls, and lint of the controls of lane tasks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rtl.bench import Bench, Device, Stream, picture_tokens
from tests.rtl.verilator import lint

# h, w, ch, ch_par, lanes, copies
SHAPES = [(3, 8, 4, 2, 2, 2), (3, 7, 5, 2, 3, 3), (2, 3, 1, 1, 4, 2)]


def fork(h, w, ch, ch_par, lanes, copies) -> Device:
    """A fork and three random frames."""
    codes = np.random.default_rng(w).integers(0, 256, (3, h, w, ch))
    tokens = picture_tokens(codes, lanes, ch_par)
    parameters = {"W": w, "LANES": lanes, "GROUPS": -(-ch // ch_par)}
    parameters |= {"COPIES": copies, "WIDTH": 8 * ch_par}
    outputs = {"out": Stream(8, tokens * copies)}
    return Device("stream_fork", parameters, {"in": Stream(8, tokens)}, outputs)


@pytest.mark.slow
def test_every_output_gets_every_token(tmp_path):
    bench = Bench([fork(*shape) for shape in SHAPES], tmp_path)
    runs = bench.check()
    for index, (h, w, ch, ch_par, lanes, _) in enumerate(SHAPES):
        times = runs[0].cycles[index, "in", 0]
        assert times[-1] + 1 == 3 * h * -(-w // lanes) * -(-ch // ch_par)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lint(shape):
    h, w, ch, ch_par, lanes, _ = shape
    device = fork(*shape)
    sizes = {"W": w, "LANES": lanes, "GROUPS": -(-ch // ch_par)}
    assert lint(device.module, device.parameters) == ""
    assert lint("lane_control", sizes | {"INPUTS": 2}) == ""
    assert lint("pool_control", sizes | {"H": h}) == ""
    for maximum in (0, 1):
        assert lint("running_total", {"GROUPS": sizes["GROUPS"], "MAXIMUM": maximum}) == ""
