"""Cost of memories: parameter ROMs, FIFOs, delays and small register files."""

from __future__ import annotations

from math import ceil, log2

from finn_resnet.boards import Resources
from finn_resnet.parallelism.coefficients import coefficient, keeps_costs, priced


@keeps_costs
def rom_cost(depth: int, width: int, mem_style: str) -> Resources:
    """A ROM of ``depth`` words of ``width`` bits, one word a cycle (``lut``, ``bram``, ``uram``).

    A ROM of one word is wiring. URAM cannot hold initial contents and is filled at start-up.
    """
    if depth <= 1 and mem_style != "uram":
        return Resources()
    if mem_style == "lut":
        # Few words make few different columns of bits; two words make only wires.
        width = min(width, 2**depth) if depth > 2 else 0
        columns = ceil(depth / coefficient("lut_rom_depth"))
        if depth > coefficient("lut_rom_pair_depth"):
            return Resources(lut=width * columns)
        return Resources(lut=width, lut_low=ceil(width / 2))
    if mem_style == "bram":
        return Resources(bram36=bram36_count(depth, width))
    if mem_style == "uram":
        words, bits = coefficient("uram_shape")
        return Resources(uram=ceil(depth / words) * ceil(width / bits))
    raise ValueError(f"mem_style {mem_style!r}")


@keeps_costs
def bram36_count(depth: int, width: int) -> float:
    """Fewest BRAM36 (in halves) that give ``depth`` x ``width`` with one word a cycle.

    One aspect ratio serves the whole memory, except that the last columns may be a BRAM18.
    """
    best = float("inf")
    for words, bits in coefficient("bram36_shapes"):
        rows = ceil(depth / words)
        whole, rest = divmod(width, bits)
        tail = min(rows, _bram18_count(depth, rest)) if rest else 0
        best = min(best, rows * whole + tail)
    return min(best, _bram18_count(depth, width))


def _bram18_count(depth: int, width: int) -> float:
    shapes = coefficient("bram18_shapes")
    return 0.5 * min(ceil(depth / words) * ceil(width / bits) for words, bits in shapes)


@keeps_costs
def fifo_cost(depth: int, width: int, style: str = "bram") -> Resources:
    """A FIFO of ``depth`` words of ``width`` bits.

    Two words stay in registers, up to 1024 bits in shift registers (what Vitis HLS does by
    itself); ``style`` is where larger ones go: ``bram`` or ``lut``.
    """
    address_bits = ceil(log2(max(depth, 2)))
    control = priced("fifo_control_lut") + Resources(ff=address_bits + 2)
    control += priced("fifo_control_lut_per_address_bit", address_bits)
    if depth <= coefficient("register_fifo_depth"):
        return control + priced("register_fifo_lut_per_bit", width) + Resources(ff=width * depth)
    if depth * width <= coefficient("srl_fifo_max_bits"):
        return control + shift_register_cost(depth, width)
    control += priced("memory_fifo_lut")
    if style == "bram":
        return control + Resources(bram36=bram36_count(depth, width))
    return control + Resources(lut=lutram_lut(depth, width), ff=width)


def shift_register_cost(depth: int, width: int) -> Resources:
    """``width`` shift registers of ``depth`` bits; short ones may share LUTs in pairs.

    The output register that synthesis may leave behind a shift register is in the higher bound.
    """
    if depth <= coefficient("srl_pair_depth"):
        return Resources(lut=width, lut_low=ceil(width / 2), ff=width, ff_low=0)
    columns = ceil(depth / coefficient("srl_depth"))
    # Up to four columns meet in the slice's own F7/F8 multiplexers; more need LUTs.
    selection = ceil((columns - 1) / 3) if columns > 4 else 0
    return Resources(lut=width * (columns + selection), ff=width, ff_low=0)


def delay_cost(cycles: int, width: int) -> Resources:
    """``width`` bits delayed by ``cycles``: registers while that is short, then shift registers."""
    if cycles <= coefficient("register_delay_cycles"):
        return Resources(ff=cycles * width)
    return shift_register_cost(cycles, width)


@keeps_costs
def lutram_lut(depth: int, width: int) -> float:
    """LUTs of a simple dual-port LUTRAM of ``depth`` words of ``width`` bits."""
    if depth <= coefficient("lutram_shallow_depth"):
        return ceil(width / coefficient("lutram_shallow_bits_per_lut"))
    rows = ceil(depth / coefficient("lutram_deep_depth"))
    selection = ceil((rows - 1) / 3) if rows > 1 else 0
    return ceil(width / coefficient("lutram_deep_bits_per_lut")) * rows + width * selection
