"""Cycles and resources of a computation task (StreamConv) and its parameter tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil

from finn_resnet.boards import Resources
from finn_resnet.numerics.dsp_packing import FOURS, PAIRS, UNPACKED, Packing
from finn_resnet.parallelism.coefficients import coefficient
from finn_resnet.parallelism.memory_cost import lutram_lut, rom_cost
from finn_resnet.parallelism.requant_cost import requant_cost

_BIAS_BITS = 16
_DSP_OPERAND_BITS = 8


@dataclass(frozen=True)
class ConvShape:
    """What a computation task computes: sizes, value ranges and the parts of its epilogue.

    ``acc_bits`` is the accumulator width in bits, ``packing`` how products share a DSP,
    ``signed_codes`` whether the activations at the multiplier may be negative, ``requants`` the
    JSON of every requantiser applied to an output code; ``ds_``: of the merged downsample.
    """

    och: int
    ich: int
    oh: int
    ow: int
    fh: int
    fw: int
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
    requants: tuple[str, ...] = ()
    ds_requant: str = ""

    @property
    def taps(self) -> int:
        """Weights of a kernel and input channel."""
        return self.fh * self.fw

    @property
    def macs(self) -> int:
        """Multiply-accumulates per frame (eq. 12), a merged downsample's included."""
        return self.oh * self.ow * self.och * self.ich * (self.taps + self.merged_downsample)


@dataclass(frozen=True)
class ConvFactors:
    """Unroll factors of a computation task and how it multiplies.

    ``chains`` and ``ds_chains`` are how many packed chains a dot product of ich_par * fh * fw
    (ich_par) taps is cut into (``numerics.dsp_packing.chain_ends``).
    """

    och_par: int = 1
    ich_par: int = 1
    ow_par: int = 1
    mac_style: str = "dsp"
    chains: int = 1
    ds_chains: int = 1


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


@cache
def conv_cost(shape: ConvShape, factors: ConvFactors) -> Resources:
    """Resources of the computation task, without streams and parameter memories."""
    lanes = factors.och_par * factors.ow_par
    cost = Resources(
        lut=coefficient("conv_task_lut"), ff=coefficient("task_ff"), dsp=conv_dsp(shape, factors)
    )
    cost += _multiplier_logic(shape, factors)
    outputs = [(shape.acc_bits, shape.requants)]
    if shape.merged_downsample:
        outputs.append((shape.ds_acc_bits, (shape.ds_requant,)))
    for acc_bits, requants in outputs:
        cost += _accumulation(shape, factors, acc_bits)
        for requant in requants:
            cost += requant_cost(requant, acc_bits, lanes, ceil(shape.och / factors.och_par))
    if shape.skip:
        cost += Resources(lut=lanes * shape.acc_bits * coefficient("adder_lut_per_bit"))
    return cost


def _multiplier_logic(shape: ConvShape, factors: ConvFactors) -> Resources:
    """LUTs and registers around the multipliers, and the multipliers themselves in LUT style."""
    lanes = factors.och_par * factors.ow_par
    taps = shape.taps + shape.merged_downsample
    products = lanes * factors.ich_par * taps
    registers = Resources(ff=products * coefficient("pipeline_ff_per_product"))
    if factors.mac_style == "lut":
        scale = shape.in_bits * shape.weight_bits / _DSP_OPERAND_BITS**2
        adder = coefficient("lut_mac_adder")
        multiplier = (coefficient("lut_mac") - adder) * scale
        return registers + Resources(lut=products * (multiplier + adder))
    lut = _packing_lut(shape.packing, factors, factors.chains)
    lut += _operand_lut(shape.packing, factors, shape.taps, shape.signed_codes)
    if shape.merged_downsample:
        lut += _packing_lut(shape.ds_packing, factors, factors.ds_chains)
        lut += _operand_lut(shape.ds_packing, factors, 1, shape.ds_signed_codes)
    return registers + Resources(lut=lut)


def _packing_lut(packing: Packing, factors: ConvFactors, chains: int) -> float:
    """LUTs that restore the sums of all chains and add them."""
    if packing == UNPACKED:
        return 0
    kind = "fours" if packing == FOURS else "packed"
    per_tile = coefficient(f"{kind}_chain_lut")
    per_tile += coefficient(f"{kind}_extra_chain_lut") * (chains - 1)
    return packing.multipliers(factors.och_par, factors.ow_par) * per_tile


def _operand_lut(packing: Packing, factors: ConvFactors, taps: int, signed_codes: bool) -> float:
    """LUTs that put operands of fours side by side where a DSP's pre-adder does not.

    The pre-adder joins two signed operands of the 27-bit port, unless other DSPs need the same
    sum. Each further one, or the second on the 18-bit port, takes the borrow of a negative lower
    one in LUTs. Unsigned operands only need wires.
    """
    if packing != FOURS:
        return 0
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
    return joined * factors.ich_par * taps * coefficient("fours_operand_lut")


def _accumulation(shape: ConvShape, factors: ConvFactors, acc_bits: int) -> Resources:
    """Adder, partial sums of all output channel groups, and the bias memory.

    Multiplications in LUTs (``lut_mac``) come with an adder each, so n products have one more than
    their sum takes, which adds to the partial sum.
    """
    lanes = factors.och_par * factors.ow_par
    och_groups = ceil(shape.och / factors.och_par)
    lut = 0.0
    if factors.mac_style == "dsp":
        lut += lanes * acc_bits * coefficient("adder_lut_per_bit")
    if factors.ich_par < shape.ich and och_groups > 1:
        lut += lutram_lut(och_groups, lanes * acc_bits)
    ff = lanes * acc_bits * coefficient("pipeline_ff_per_output_bit")
    return Resources(lut=lut, ff=ff) + rom_cost(och_groups, factors.och_par * _BIAS_BITS, "lut")


@cache
def parameter_cost(
    och: int, ich: int, taps: int, bits: int, och_par: int, ich_par: int, mem_style: str
) -> Resources:
    """A parameter task and its memory."""
    task = Resources(lut=coefficient("task_lut"), ff=coefficient("task_ff"))
    memory = embedded_parameter_cost(och, ich, taps, bits, och_par, ich_par, mem_style)
    return task + memory


@cache
def embedded_parameter_cost(
    och: int, ich: int, taps: int, bits: int, och_par: int, ich_par: int, mem_style: str
) -> Resources:
    """A weight memory: one word holds och_par * ich_par * taps weights of ``bits`` bits."""
    depth = ceil(och / och_par) * ceil(ich / ich_par)
    return rom_cost(depth, och_par * ich_par * taps * bits, mem_style)
