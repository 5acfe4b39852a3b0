"""Requantisers of the RTL library against their NumPy form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from finn_resnet.generation.rtl.circuit import Circuit, signed_bits
from finn_resnet.generation.rtl.requant_rtl import (
    ChannelEntry,
    requant_latency,
    requantise,
    rounding_addend,
)
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import AffineStage, Requantiser, ShiftStage, ThresholdStage
from finn_resnet.numerics.rounding import ROUNDING_MODES
from tests.rtl.bench import Bench, Device, Stream

pytestmark = pytest.mark.slow

ONE = ChannelEntry(1, 1, 0)


def shift(amount, mode, lo, hi):
    return Requantiser((ShiftStage(amount, mode, lo, hi),))


def device(name, requant, codes, channel=ONE, added=False):
    """Source and device: tokens (x, group) to codes. Values around every step, ends, random."""
    bits = max(signed_bits(codes), 8)
    circuit = Circuit(name)
    circuit.stream_port("input", "in", 2 * bits)
    x = circuit.wire("x", signed_bits(codes), "in_data", signed=True)
    groups = max((channel.groups - 1).bit_length(), 1)
    group = circuit.wire("group", groups, f"in_data[{bits + groups - 1}:{bits}]")
    y, out = requantise(
        *(circuit, requant, x, codes, channel),
        lambda late: circuit.delayed(group, groups, late),
        added=added,
    )
    circuit.stream_port("output", "out", out.bits)
    valid = circuit.delayed("in_valid", 1, requant_latency(requant, added), cleared=True)
    circuit.assign("in_ready", "1'b1")
    circuit.assign("out_valid", valid)
    circuit.assign("out_data", y)
    inputs = values(codes)
    group_of = np.arange(len(inputs)) % channel.groups
    offset = rounding_addend(requant) if added else 0
    expected = np.empty_like(inputs)
    for g in range(channel.groups):
        number = min(g * channel.par + channel.entry, channel.channels - 1)
        chosen = group_of == g
        expected[chosen] = requant.of_channel(number)(inputs[chosen] - offset)
    assert expected.min() >= out.lo and expected.max() <= out.hi
    tokens = np.stack([inputs, group_of], axis=1)
    streams = Stream(bits, [tokens]), Stream(out.bits, [expected.reshape(-1, 1)])
    return circuit.text(), Device(name, {}, {"in": streams[0]}, {"out": streams[1]})


def values(codes):
    rng = np.random.default_rng(1)
    near = np.arange(max(codes.lo, -300), min(codes.hi, 300) + 1)
    ends = np.concatenate([codes.lo + np.arange(40), codes.hi - np.arange(40)])
    drawn = np.concatenate([near, ends, rng.integers(codes.lo, codes.hi + 1, 300)])
    return np.clip(drawn, codes.lo, codes.hi)


def shifts():
    for mode, amount in itertools.product(ROUNDING_MODES, (-2, 0, 1, 5, 25)):
        yield shift(amount, mode, 0, 255), Range(-200000, 150000)
    for mode in ROUNDING_MODES:
        yield shift(3, mode, -100, 77), Range(-2048, 2047)
        yield shift(2, mode, -128, 127), Range(0, 900)
        yield shift(4, mode, -1, 0), Range(-8, 7)


def per_channel():
    rng = np.random.default_rng(5)
    mult = tuple(int(m) for m in rng.integers(-30000, 30000, 5))
    add = tuple(int(a) for a in rng.integers(-(2**30), 2**30, 5))
    rows = tuple(tuple(sorted(int(t) for t in rng.integers(-5000, 5000, 11))) for _ in range(5))
    codes = Range(-4000, 3900)
    for par, entry in ((1, 0), (2, 0), (2, 1), (5, 3)):
        channel = ChannelEntry(5, par, entry)
        yield Requantiser((AffineStage(mult, add, 17, -128, 127),)), codes, channel
        yield Requantiser((ThresholdStage(-3, (1, -1, 1, 1, -1), rows),)), codes, channel
    yield Requantiser((AffineStage((3,), (7,), 2, 0, 15),)), codes, ONE
    yield Requantiser((ThresholdStage(0, (1,), ((5,),)),)), codes, ONE
    yield Requantiser((ThresholdStage(2, (-1,), (tuple(range(-60, 67)),)),)), codes, ONE
    yield (
        Requantiser(
            (),
        ),
        Range(-77, 90),
        ONE,
    )
    chain = (
        ShiftStage(3, "HALF_UP", -128, 127),
        AffineStage(mult, add, 24, -100, 100),
        ThresholdStage(-5, (1,), ((-7, 0, 0, 9, 50),)),
        ShiftStage(1, "ROUND", -2, 1),
    )
    yield Requantiser(chain), codes, ChannelEntry(5, 2, 0)


def cases():
    for requant, codes in shifts():
        yield requant, codes, ONE, False
        addend = rounding_addend(requant)
        if addend is not None:
            yield requant, Range(codes.lo + addend, codes.hi + addend), ONE, True
    for requant, codes, channel in per_channel():
        yield requant, codes, channel, False


@pytest.fixture(scope="module")
def devices():
    return [device(f"case{n}", *case) for n, case in enumerate(cases())]


def bench(devices, folder):
    source = folder / "cases.sv"
    source.write_text("".join(text for text, _ in devices))
    return Bench([made for _, made in devices], folder, [source])


def test_every_code_is_that_of_numpy(devices, tmp_path):
    bench(devices, tmp_path).check(stalled=0)


def test_a_wrong_table_or_mode_is_seen(devices, tmp_path):
    changes = [
        (".SHIFT(5), .MODE(0)", ".SHIFT(5), .MODE(5)"),
        (".SHIFT(5), .MODE(2)", ".SHIFT(5), .MODE(1)"),
        (".BASE(2)", ".BASE(1)"),
    ]
    picked = [next(d for d in devices if old in d[0]) for old, _ in changes]
    wrong = [(d[0].replace(*change), d[1]) for d, change in zip(picked, changes, strict=True)]
    made = bench(wrong, tmp_path)
    run = made.run(stalled=0)[0]
    assert len(made.differences(run)) == len(changes)
