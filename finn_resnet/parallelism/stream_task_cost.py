"""Cycles and resources of the tasks without weights: pools, forks, adds, adapters, DMA."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd

from finn_resnet.boards import Resources, total
from finn_resnet.parallelism.coefficients import coefficient, keeps_costs, priced
from finn_resnet.parallelism.memory_cost import bram36_count, lutram_lut
from finn_resnet.parallelism.requant_cost import factor_cost, requant_cost
from finn_resnet.transformation.stream_profile import StreamProfile

_LARGEST_LUT_BANK = 1024


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
    return priced("task_lut") + priced("task_ff")


def stream_cycles(picture: Picture, profile: StreamProfile) -> int:
    """Tokens per lane and frame: h * ceil(w/lanes) * ceil(ch/ch_par)."""
    return picture.h * ceil(picture.w / profile.lanes) * ceil(picture.ch / profile.ch_par)


def stream_bits(picture: Picture, profile: StreamProfile) -> int:
    """Width in bits of one token of one lane."""
    return profile.ch_par * picture.code_bits


@keeps_costs
def adapter_schedule(ch: int, in_par: int, out_par: int) -> tuple[tuple[int, bool, bool], ...]:
    """What a width adapter does in each step of a pixel: (codes it holds, reads, writes).

    A step reads when the codes held do not fill the next output token of ``out_par`` codes, and
    writes when they then do.
    """
    read = written = 0
    steps = []
    while written * out_par < ch:
        needed = min((written + 1) * out_par, ch)
        held = min(read * in_par, ch) - written * out_par
        reads = held + written * out_par < needed
        read += reads
        writes = min(read * in_par, ch) >= needed
        written += writes
        steps.append((held, reads, writes))
    return tuple(steps)


@keeps_costs
def adapter_cycles(picture: Picture, source: StreamProfile, sink: StreamProfile) -> int:
    """Cycles of a width adapter: gcd(lanes) columns side by side, one token a step on each side.

    Most often a column takes as many steps as the side with more channel groups has.
    """
    columns = ceil(picture.w / gcd(source.lanes, sink.lanes))
    return picture.h * columns * len(adapter_schedule(picture.ch, source.ch_par, sink.ch_par))


@keeps_costs
def adapter_cost(picture: Picture, source: StreamProfile, sink: StreamProfile) -> Resources:
    """Resources of a width adapter; equal profiles need none.

    Each column keeps the codes that a step leaves behind; synthesis does not see that a step
    writes, unless every one does. A token is written behind them, at as many places as the
    schedule has; lanes are selected where their numbers differ.
    """
    if source == sink:
        return Resources()
    columns = gcd(source.lanes, sink.lanes)
    schedule = adapter_schedule(picture.ch, source.ch_par, sink.ch_par)
    all_write = all(writes for _, _, writes in schedule)
    kept = max(
        held + source.ch_par * reads - (sink.ch_par if all_write else 0)
        for held, reads, _ in schedule
    )
    kept = max(kept, 0)
    places = len({held for held, reads, _ in schedule if reads})
    bits = columns * picture.code_bits
    placed = source.ch_par * places if places > 1 else 0
    selected = source.ch_par * source.lanes // columns if source.lanes > columns else 0
    return (
        priced("adapter_lut")
        + priced("adapter_ff")
        + priced("adapter_lut_per_kept_bit", kept * bits)
        + priced("adapter_lut_per_placed_bit", placed * bits)
        + priced("adapter_lut_per_selected_bit", selected * bits)
        + Resources(ff=kept * bits)
    )


@keeps_costs
def fork_cost(copies: int) -> Resources:
    """A fork writes every token to ``copies`` streams: one task, no arithmetic."""
    return _task() + priced("fork_lut", copies)


@keeps_costs
def concat_cost(picture: Picture, profile: StreamProfile, parts: int, requant: str) -> Resources:
    """A concatenation of ``parts`` pictures: selects the token of one, and requantises."""
    copies = profile.lanes * profile.ch_par
    bits = copies * picture.code_bits
    groups = ceil(picture.ch / profile.ch_par)
    selection = priced("concat_lut_per_bit", (parts - 1) * bits) + Resources(ff=bits)
    return _task() + selection + requant_cost(requant, picture.code_bits, copies, groups)


@keeps_costs
def add_cost(
    picture: Picture, profile: StreamProfile, requant: str, factors: tuple[int, ...] = ()
) -> Resources:
    """An element-wise addition with requantisation of the sum of operands times ``factors``."""
    copies = profile.lanes * profile.ch_par
    bits = picture.code_bits + coefficient("add_growth_bits")
    adders = priced("adder_lut_per_bit", copies * bits) + Resources(ff=copies * bits)
    adders += total(factor_cost((factor,)) * copies for factor in factors)
    groups = ceil(picture.ch / profile.ch_par)
    return _task() + adders + requant_cost(requant, bits, copies, groups)


@keeps_costs
def requant_task_cost(picture: Picture, profile: StreamProfile, requant: str) -> Resources:
    """An element-wise requantisation task."""
    copies = profile.lanes * profile.ch_par
    groups = ceil(picture.ch / profile.ch_par)
    return _task() + requant_cost(requant, picture.code_bits, copies, groups)


@keeps_costs
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
    per_bit = "compare_lut_per_bit" if kind == "max" else "adder_lut_per_bit"
    groups = ceil(picture.ch / profile.ch_par)
    combine = (taps - 1) * profile.lanes if windowed else profile.lanes
    combined = combine * profile.ch_par * bits
    cost = _task() + priced(per_bit, combined) + Resources(ff=combined)
    if not windowed and groups > 1:
        cost += Resources(lut=lutram_lut(groups, profile.ch_par * bits))
    outputs = profile.ch_par * (profile.lanes if windowed else 1)
    return cost + requant_cost(requant, bits, outputs, groups)


@keeps_costs
def resize_cost(picture: Picture, profile: StreamProfile) -> Resources:
    """An enlargement: the memory of one input row and the selection of its columns.

    A bank (every ``lanes``-th column) of more than 1024 bits lies in block RAM.
    """
    depth = ceil(picture.w / profile.lanes) * ceil(picture.ch / profile.ch_par)
    width = stream_bits(picture, profile)
    if depth * width > _LARGEST_LUT_BANK:
        bank = Resources(bram36=bram36_count(depth, width))
    else:
        bank = Resources(lut=lutram_lut(depth, width))
    selected = profile.lanes * width * profile.lanes if profile.lanes > 1 else width
    cost = _task() + bank * profile.lanes + Resources(ff=profile.lanes * width)
    return cost + priced("adapter_lut_per_selected_bit", selected)


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


@keeps_costs
def dma_cost(profile: StreamProfile, code_bytes: int, beat_bytes: int) -> Resources:
    """A DMA task: a byte buffer of a token and a beat, written at a varying position.

    Where tokens divide the beat, they never straddle two of them.
    """
    token_bytes = profile.ch_par * code_bytes
    bits = 8 * (token_bytes + beat_bytes)
    aligned = beat_bytes % token_bytes == 0
    shifter = "dma_aligned_lut_per_bit" if aligned else "dma_shifter_lut_per_bit"
    return _task() + priced(shifter, bits) + Resources(ff=2 * bits)
