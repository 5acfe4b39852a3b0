"""Input and output DMA of the RTL library: beats, TLAST, ragged tokens, under random stalls."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rtl.bench import Bench, Device, Stream, picture_tokens
from tests.rtl.verilator import lint

# h, w, ch, ch_par, lanes, code_bytes, bits, signed
SHAPES = [
    (4, 8, 3, 3, 1, 1, 8, 0),
    (4, 8, 3, 3, 4, 1, 8, 0),
    (3, 7, 3, 2, 3, 1, 8, 1),
    (2, 4, 16, 4, 2, 1, 8, 0),
    (2, 4, 16, 16, 2, 1, 4, 1),
    (3, 5, 6, 4, 2, 1, 7, 1),
    (1, 1, 10, 1, 1, 1, 8, 1),
    (1, 1, 10, 10, 1, 2, 11, 1),
    (2, 3, 24, 24, 1, 1, 8, 0),
    (2, 3, 37, 20, 2, 1, 8, 1),
    (2, 2, 40, 17, 1, 2, 16, 1),
    (3, 3, 5, 5, 2, 4, 32, 1),
    (2, 2, 7, 3, 1, 2, 9, 0),
    (1, 2, 64, 48, 1, 1, 8, 0),
]
NAMES = ("H", "W", "CH", "CH_PAR", "LANES", "CODE_BYTES", "BITS")


def frame_bytes(codes: np.ndarray, code_bytes: int) -> np.ndarray:
    """Frames as zero-padded beats ``[beats, 16]`` of bytes and TLAST of each."""
    raw = codes.reshape(len(codes), -1).astype("<i8").view(np.uint8)
    raw = raw.reshape(len(codes), -1, 8)[..., :code_bytes].reshape(len(codes), -1)
    padded = np.pad(raw, ((0, 0), (0, -raw.shape[1] % 16))).reshape(len(codes), -1, 16)
    last = np.zeros((*padded.shape[:2], 1), np.int64)
    last[:, -1] = 1
    return padded.reshape(-1, 16), last.reshape(-1, 1)


def dma(shape: tuple[int, ...]) -> list[Device]:
    """Both DMAs and three frames with the extreme codes among them."""
    h, w, ch, ch_par, lanes, code_bytes, bits, signed = shape
    rng = np.random.default_rng(ch * ch_par)
    lo, hi = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    codes = rng.choice([lo, hi, *rng.integers(lo, hi + 1, 40)], (3, h, w, ch))
    beats, last = frame_bytes(codes, code_bytes)
    bits_of = np.unpackbits(beats.astype(np.uint8), axis=1, bitorder="little").astype(np.int64)
    tokens = Stream(bits, picture_tokens(codes, lanes, ch_par))
    parameters = dict(zip(NAMES, shape[:7], strict=True))
    return [
        Device("input_dma", parameters, {"in": Stream(1, [bits_of])}, {"out": tokens}),
        Device(
            "output_dma",
            parameters | {"SIGNED": signed},
            {"in": tokens},
            {"out": Stream(1, [np.concatenate([bits_of, last], axis=1)])},
        ),
    ]


@pytest.mark.slow
def test_beats_and_tokens_at_full_rate(tmp_path):
    bench = Bench([device for shape in SHAPES for device in dma(shape)], tmp_path)
    runs = bench.check(stalled=5)
    for index, (h, w, ch, ch_par, _, code_bytes, _, _) in enumerate(SHAPES):
        parts = -(-ch_par * code_bytes // 16)
        cycles = h * w * -(-ch // ch_par) * parts
        for device, partial in ((2 * index, 0), (2 * index + 1, h * w * ch * code_bytes % 16 != 0)):
            last = max(t.max() for key, t in runs[0].cycles.items() if key[0] == device and len(t))
            # Nothing moves in the last cycles of a short token that completes no more beats.
            assert 0 <= 3 * (cycles + partial) - (last + 1) < parts, (SHAPES[index], device)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lint(shape):
    for device in dma(shape):
        assert lint(device.module, device.parameters) == ""
