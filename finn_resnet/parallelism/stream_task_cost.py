"""Cycles and resources of the tasks without weights: pools, forks, adds, adapters, DMA."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, gcd

from finn_resnet.boards import Resources
from finn_resnet.parallelism.coefficients import coefficient
from finn_resnet.parallelism.memory_cost import lutram_lut
from finn_resnet.parallelism.requant_cost import requant_cost
from finn_resnet.transformation.stream_profile import StreamProfile


@dataclass(frozen=True)
class Picture:
    """A tensor of NHWC codes on its way: height, width, channels and bits of one code."""

    h: int
    w: int
    ch: int
    code_bits: int = 8

    @property
    def codes(self) -> int:
        """Codes of a frame."""
        return self.h * self.w * self.ch


def _task() -> Resources:
    return Resources(lut=coefficient("task_lut"), ff=coefficient("task_ff"))


def stream_cycles(picture: Picture, profile: StreamProfile) -> int:
    """Tokens per lane and frame: h * ceil(w/lanes) * ceil(ch/ch_par)."""
    return picture.h * ceil(picture.w / profile.lanes) * ceil(picture.ch / profile.ch_par)


def stream_bits(picture: Picture, profile: StreamProfile) -> int:
    """Width in bits of one token of one lane."""
    return profile.ch_par * picture.code_bits


@cache
def adapter_cycles(picture: Picture, source: StreamProfile, sink: StreamProfile) -> int:
    """Cycles of a width adapter: gcd(lanes) columns side by side, one token a step on each side.

    A step reads when the buffered codes do not fill the next output token; so most often a
    column takes as many steps as the side with more channel groups has.
    """
    columns = ceil(picture.w / gcd(source.lanes, sink.lanes))
    out_groups = ceil(picture.ch / sink.ch_par)
    read = written = steps = 0
    while written < out_groups:
        needed = min((written + 1) * sink.ch_par, picture.ch)
        read += min(read * source.ch_par, picture.ch) < needed
        written += min(read * source.ch_par, picture.ch) >= needed
        steps += 1
    return picture.h * columns * steps


@cache
def adapter_cost(picture: Picture, source: StreamProfile, sink: StreamProfile) -> Resources:
    """Resources of a width adapter; equal profiles need none.

    Per column it has a buffer of both token widths whose write position varies, and lanes are
    selected where their numbers differ.
    """
    if source == sink:
        return Resources()
    columns = gcd(source.lanes, sink.lanes)
    buffered = (source.ch_par + sink.ch_par) * picture.code_bits
    positions = ceil(max(source.ch_par, sink.ch_par) / gcd(source.ch_par, sink.ch_par))
    selected = columns * buffered * (positions if positions > 1 else 0)
    if source.lanes > columns:
        selected += source.lanes * source.ch_par * picture.code_bits
    select = selected * coefficient("mux_lut_per_input_bit")
    return _task() + Resources(lut=select, ff=columns * buffered)


@cache
def fork_cost(copies: int) -> Resources:
    """A fork writes every token to ``copies`` streams: one task, no arithmetic."""
    return _task() + Resources(lut=2 * copies)


@cache
def add_cost(picture: Picture, profile: StreamProfile, requant: str) -> Resources:
    """An element-wise addition with requantisation of the sum."""
    copies = profile.lanes * profile.ch_par
    bits = picture.code_bits + 3
    adders = Resources(lut=copies * bits * coefficient("adder_lut_per_bit"), ff=copies * bits)
    groups = ceil(picture.ch / profile.ch_par)
    return _task() + adders + requant_cost(requant, bits, copies, groups)


@cache
def requant_task_cost(picture: Picture, profile: StreamProfile, requant: str) -> Resources:
    """An element-wise requantisation task."""
    copies = profile.lanes * profile.ch_par
    groups = ceil(picture.ch / profile.ch_par)
    return _task() + requant_cost(requant, picture.code_bits, copies, groups)


@cache
def pool_cost(
    picture: Picture,
    profile: StreamProfile,
    *,
    kind: str,
    taps: int,
    windowed: bool,
    requant: str,
) -> Resources:
    """A pool over windows (all taps a cycle) or over the whole picture (one token a lane a cycle).

    ``taps`` is fh*fw. A global pool keeps one running maximum or sum per channel.
    """
    growth = (taps - 1).bit_length() if kind == "average" else 0
    bits = picture.code_bits + growth
    per_bit = coefficient("compare_lut_per_bit" if kind == "max" else "adder_lut_per_bit")
    groups = ceil(picture.ch / profile.ch_par)
    combine = (taps - 1) * profile.lanes if windowed else profile.lanes
    lut = combine * profile.ch_par * bits * per_bit
    if not windowed and groups > 1:
        lut += lutram_lut(groups, profile.ch_par * bits)
    outputs = profile.ch_par * (profile.lanes if windowed else 1)
    registers = Resources(lut=lut, ff=combine * profile.ch_par * bits)
    return _task() + registers + requant_cost(requant, bits, outputs, groups)


def dma_cycles(picture: Picture, profile: StreamProfile, code_bytes: int, beat_bytes: int) -> int:
    """Cycles per frame of a DMA task: a token a cycle whatever the lanes, or a beat if wider."""
    tokens = picture.h * picture.w * ceil(picture.ch / profile.ch_par)
    return tokens * ceil(profile.ch_par * code_bytes / beat_bytes)


def output_dma_cycles(
    picture: Picture, profile: StreamProfile, code_bytes: int, beat_bytes: int
) -> int:
    """As `dma_cycles`, and one cycle for the last beat if the picture only fills part of it."""
    partial = picture.codes * code_bytes % beat_bytes != 0
    return dma_cycles(picture, profile, code_bytes, beat_bytes) + partial


@cache
def dma_cost(profile: StreamProfile, code_bytes: int, beat_bytes: int) -> Resources:
    """A DMA task: a byte buffer of a token and a beat, written at a varying position.

    Where tokens divide the beat, they never straddle two of them.
    """
    token_bytes = profile.ch_par * code_bytes
    bits = 8 * (token_bytes + beat_bytes)
    aligned = beat_bytes % token_bytes == 0
    shifter = bits * coefficient(
        "dma_aligned_lut_per_bit" if aligned else "dma_shifter_lut_per_bit"
    )
    return _task() + Resources(lut=shifter, ff=2 * bits)
