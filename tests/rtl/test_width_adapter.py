"""Width adapters of the RTL library: any factors, ragged rows and channels, under random stalls."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.parallelism.stream_task_cost import Picture, adapter_cycles
from finn_resnet.transformation.stream_profile import StreamProfile
from tests.rtl.bench import Bench, Device, Stream, picture_tokens
from tests.rtl.verilator import lint

# h, w, ch, in_ch_par, in_lanes, out_ch_par, out_lanes, bits
SHAPES = [
    (4, 4, 8, 2, 1, 4, 1, 8),
    (4, 4, 8, 8, 1, 2, 1, 8),
    (3, 8, 16, 4, 2, 4, 1, 8),
    (3, 8, 16, 4, 1, 4, 4, 8),
    (3, 7, 5, 2, 2, 3, 1, 8),
    (3, 7, 5, 3, 3, 2, 2, 4),
    (3, 10, 6, 4, 4, 3, 2, 8),
    (2, 9, 12, 5, 3, 4, 3, 8),
    (2, 5, 3, 1, 1, 3, 5, 9),
    (2, 32, 16, 16, 2, 5, 3, 8),
    (2, 3, 7, 7, 1, 1, 2, 1),
    (5, 1, 10, 3, 1, 10, 1, 8),
    (3, 6, 4, 4, 2, 4, 3, 8),
    (2, 11, 9, 2, 4, 6, 6, 3),
]
NAMES = ("W", "CH", "IN_CH_PAR", "IN_LANES", "OUT_CH_PAR", "OUT_LANES", "BITS")


def adapter(h, w, ch, in_ch_par, in_lanes, out_ch_par, out_lanes, bits) -> Device:
    """A width adapter and three random frames; entries beyond the last channel come in random."""
    rng = np.random.default_rng(w * ch + in_ch_par)
    codes = rng.integers(0, 1 << bits, (3, h, w, ch))
    inputs = picture_tokens(codes, in_lanes, in_ch_par)
    groups = -(-ch // in_ch_par)
    for lane in inputs:
        last = lane.reshape(-1, groups, in_ch_par)[:, -1, ch - (groups - 1) * in_ch_par :]
        last[...] = rng.integers(0, 1 << bits, last.shape)
    outputs = picture_tokens(codes, out_lanes, out_ch_par)
    values = (w, ch, in_ch_par, in_lanes, out_ch_par, out_lanes, bits)
    return Device(
        "width_adapter",
        dict(zip(NAMES, values, strict=True)),
        {"in": Stream(bits, inputs)},
        {"out": Stream(bits, outputs)},
    )


@pytest.mark.slow
def test_regroups_codes_at_the_modelled_rate(tmp_path):
    bench = Bench([adapter(*shape) for shape in SHAPES], tmp_path)
    runs = bench.check()
    for index, (h, w, ch, in_ch_par, in_lanes, out_ch_par, out_lanes, bits) in enumerate(SHAPES):
        cycles = adapter_cycles(
            Picture(h, w, ch, bits),
            StreamProfile(in_lanes, in_ch_par),
            StreamProfile(out_lanes, out_ch_par),
        )
        moved = [runs[0].cycles[key] for key in runs[0].cycles if key[0] == index]
        last = max(times.max() for times in moved if len(times))
        assert last + 1 == 3 * cycles, SHAPES[index]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lint(shape):
    assert lint("width_adapter", dict(zip(NAMES, shape[1:], strict=True))) == ""
