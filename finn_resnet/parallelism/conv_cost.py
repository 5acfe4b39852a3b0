"""Cycles and resources of a computation task (StreamConv) and its parameter tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from finn_resnet.boards import Resources, total
from finn_resnet.numerics.dsp_packing import FOURS, PAIRS, UNPACKED, Packing
from finn_resnet.parallelism.coefficients import coefficient, keeps_costs, priced
from finn_resnet.parallelism.memory_cost import delay_cost, lutram_lut, rom_cost
from finn_resnet.parallelism.requant_cost import factor_cost, requant_cost

BIAS_BITS = 16
_CODE_BITS = 8


@dataclass(frozen=True)
class ConvShape:
    """What a computation task computes: sizes, value ranges and the parts of its epilogue.

    ``acc_bits`` is the accumulator width in bits, ``packing`` how products share a DSP,
    ``signed_codes`` whether the activations at the multiplier may be negative, ``requants`` the
    JSON of every requantiser applied to an output code, ``skip_factors`` what the operands of its
    addition are multiplied by; ``ds_``: of the merged downsample.
    """

    och: int
    ich: int
    oh: int
    ow: int
    fh: int
    fw: int
    stride_w: int = 1
    in_bits: int = 8
    weight_bits: int = 8
    acc_bits: int = 20
    packing: Packing = PAIRS
    signed_codes: bool = False
    merged_downsample: bool = False
    ds_weight_bits: int = 8
    ds_acc_bits: int = 20
    ds_packing: Packing = PAIRS
    ds_signed_codes: bool = False
    skip: bool = False
    skip_factors: tuple[int, ...] = ()
    requants: tuple[str, ...] = ()
    ds_requant: str = ""

    @property
    def taps(self) -> int:
        """Weights of a kernel and input channel."""
        return self.fh * self.fw

    def window_codes(self, ow_par: int) -> int:
        """Codes of one input channel that ``ow_par`` neighbouring outputs read."""
        return self.fh * min(self.fw + (ow_par - 1) * self.stride_w, self.fw * ow_par)

    @property
    def macs(self) -> int:
        """Multiply-accumulates per frame (eq. 12), a merged downsample's included."""
        return self.oh * self.ow * self.och * self.ich * (self.taps + self.merged_downsample)


@dataclass(frozen=True)
class ConvFactors:
    """Unroll factors of a computation task and how it multiplies.

    ``chain_ends`` and ``ds_chain_ends`` say where a dot product of ich_par * fh * fw (ich_par)
    taps is cut into cascades (``numerics.dsp_packing.chain_ends``); empty: one cascade.
    """

    och_par: int = 1
    ich_par: int = 1
    ow_par: int = 1
    mac_style: str = "dsp"
    chain_ends: tuple[int, ...] = ()
    ds_chain_ends: tuple[int, ...] = ()


def conv_cycles(shape: ConvShape, factors: ConvFactors) -> int:
    """Cycles per frame: oh * ceil(ow/ow_par) * ceil(ich/ich_par) * ceil(och/och_par)."""
    return (
        shape.oh
        * ceil(shape.ow / factors.ow_par)
        * ceil(shape.ich / factors.ich_par)
        * ceil(shape.och / factors.och_par)
    )


def conv_dsp(shape: ConvShape, factors: ConvFactors) -> int:
    """DSPs of the multipliers: one per tile of the packing, input channel and tap."""
    if factors.mac_style == "lut":
        return 0
    array = factors.och_par, factors.ow_par
    dsp = shape.packing.multipliers(*array) * shape.taps
    if shape.merged_downsample:
        dsp += shape.ds_packing.multipliers(*array)
    return dsp * factors.ich_par


@keeps_costs
def conv_cost(shape: ConvShape, factors: ConvFactors) -> Resources:
    """Resources of the computation task, without streams and parameter memories."""
    lanes = factors.och_par * factors.ow_par
    cost = priced("conv_task_lut") + priced("hls_task_lut") + priced("conv_task_ff")
    cost += Resources(dsp=conv_dsp(shape, factors)) + operand_registers(shape, factors)
    cost += dot_products(shape, factors)
    outputs = [(shape.acc_bits, shape.requants)]
    if shape.merged_downsample:
        outputs.append((shape.ds_acc_bits, (shape.ds_requant,)))
    for acc_bits, requants in outputs:
        cost += _accumulation(shape, factors, acc_bits)
        bits = acc_bits
        for requant in requants:
            cost += requant_cost(requant, bits, lanes, ceil(shape.och / factors.och_par))
            # A second one takes the sum of a code and a skip code.
            bits = _CODE_BITS + coefficient("add_growth_bits")
    if shape.skip:
        cost += priced("adder_lut_per_bit", lanes * bits)
        cost += total(factor_cost((factor,)) * lanes for factor in shape.skip_factors)
    return cost


def operand_registers(shape: ConvShape, factors: ConvFactors) -> Resources:
    """Registers of the window, which all output channel groups read, and of the weights."""
    taps = shape.taps + shape.merged_downsample
    window = shape.window_codes(factors.ow_par) * shape.in_bits
    weights = factors.och_par * taps * shape.weight_bits
    return priced("operand_ff_per_bit", factors.ich_par * (window + weights))


def dot_products(shape: ConvShape, factors: ConvFactors) -> Resources:
    """What the dot products take beside DSPs, those of a merged downsample included."""
    cost = _dot_product(
        shape.packing,
        factors,
        factors.chain_ends or (factors.ich_par * shape.taps,),
        (shape.in_bits, shape.weight_bits, shape.acc_bits),
    )
    if shape.merged_downsample:
        cost += _dot_product(
            shape.ds_packing,
            factors,
            factors.ds_chain_ends or (factors.ich_par,),
            (shape.in_bits, shape.ds_weight_bits, shape.ds_acc_bits),
        )
    if factors.mac_style == "dsp":
        cost += _operand_cost(shape.packing, factors, shape.taps, shape.signed_codes)
        if shape.merged_downsample:
            cost += _operand_cost(shape.ds_packing, factors, 1, shape.ds_signed_codes)
    return cost


def _dot_product(
    packing: Packing, factors: ConvFactors, ends: tuple[int, ...], bits: tuple[int, int, int]
) -> Resources:
    """Cascades of DSPs with their operands' delays and the tree behind them, or LUT multipliers.

    ``ends`` are the taps at which cascades end, ``bits`` the widths of code, weight and sum.
    """
    code_bits, weight_bits, sum_bits = bits
    lanes = factors.och_par * factors.ow_par
    if factors.mac_style == "lut":
        return multiplier_cost(code_bits, weight_bits, sum_bits) * (lanes * ends[-1])
    operands = factors.ow_par * code_bits + factors.och_par * weight_bits
    cost = operand_delay_cost(ends, operands)
    if packing == UNPACKED:
        return cost
    kind = "fours" if packing == FOURS else "packed"
    tiles = packing.multipliers(factors.och_par, factors.ow_par)
    return cost + _restored(kind, len(ends), sum_bits) * tiles


def _restored(kind: str, chains: int, sum_bits: int) -> Resources:
    """Restoring the sums of one tile's cascades and adding those of several."""
    if chains == 1:
        return priced(f"{kind}_restore_lut")
    fields = coefficient(f"{kind}_fields")
    tree = fields * (chains - 1) * sum_bits
    borrows = priced("borrow_lut_per_bit", (fields - 1) * chains * sum_bits)
    registers = Resources(ff=tree)
    return borrows + registers + priced("adder_lut_per_bit", tree) + priced(f"{kind}_restore_lut")


@keeps_costs
def operand_delay_cost(ends: tuple[int, ...], bits: int) -> Resources:
    """Delays of operands of ``bits`` bits a tap: a cascade's k-th DSP needs its own k cycles late.

    Cascades that need the same operands share their delays.
    """
    waits = [k for start, end in pairwise((0, *ends)) for k in range(end - start)]
    return total(delay_cost(wait, bits) for wait in waits)


def multiplier_cost(code_bits: int, weight_bits: int, sum_bits: int) -> Resources:
    """A multiplier in LUTs with its register, and an adder for its product."""
    product = priced("lut_multiplier_lut_per_bit", code_bits * weight_bits)
    registers = Resources(ff=code_bits + weight_bits + sum_bits)
    return product + registers + priced("adder_lut_per_bit", sum_bits)


def _operand_cost(
    packing: Packing, factors: ConvFactors, taps: int, signed_codes: bool
) -> Resources:
    """LUTs that put operands of fours side by side where a DSP's pre-adder does not.

    The pre-adder joins two signed operands of the 27-bit port, unless other DSPs need the same
    sum. Each further one, or the second on the 18-bit port, takes the borrow of a negative lower
    one in LUTs. Unsigned operands only need wires.
    """
    if packing != FOURS:
        return Resources()
    group = packing.column_group(factors.och_par, factors.ow_par)
    groups, rest = divmod(factors.ow_par, group)
    joined = 0
    for columns, count in ((group, groups), (rest, 1)):
        if columns > 1:
            joined += count * signed_codes
        if columns:
            whole, last = divmod(factors.och_par, packing.tile_channels(columns))
            pre_added = count == 1
            for channels, tiles in ((packing.tile_channels(columns), whole), (last, 1)):
                joined += tiles * max(channels - 1 - pre_added, 0)
    return priced("fours_operand_lut", joined * factors.ich_par * taps)


def _accumulation(shape: ConvShape, factors: ConvFactors, acc_bits: int) -> Resources:
    """Adder, partial sums of all output channel groups, and the bias memory."""
    lanes = factors.och_par * factors.ow_par
    och_groups = ceil(shape.och / factors.och_par)
    cost = priced("adder_lut_per_bit", lanes * acc_bits)
    cost += priced("accumulate_ff_per_bit", lanes * acc_bits)
    if factors.ich_par < shape.ich and och_groups > 1:
        cost += Resources(lut=lutram_lut(och_groups, lanes * acc_bits))
    return cost + rom_cost(och_groups, factors.och_par * BIAS_BITS, "lut")


@keeps_costs
def parameter_cost(
    och: int, ich: int, taps: int, bits: int, och_par: int, ich_par: int, mem_style: str
) -> Resources:
    """A parameter task and its memory."""
    task = priced("task_lut") + priced("task_ff")
    memory = embedded_parameter_cost(och, ich, taps, bits, och_par, ich_par, mem_style)
    return task + memory


@keeps_costs
def embedded_parameter_cost(
    och: int, ich: int, taps: int, bits: int, och_par: int, ich_par: int, mem_style: str
) -> Resources:
    """A weight memory: one word holds och_par * ich_par * taps weights of ``bits`` bits."""
    depth = ceil(och / och_par) * ceil(ich / ich_par)
    return rom_cost(depth, och_par * ich_par * taps * bits, mem_style)
