"""Cycles and resources of a grouped convolution's task (StreamGroupedConv).

Every group computed at once is a small convolution of its own: its DSPs, cascades and operand
registers are those of `conv_cost`. What a whole task has once, and what it has for every output, is
counted for all of them. Nothing is kept from one iteration to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from finn_resnet.boards import Resources
from finn_resnet.parallelism.coefficients import keeps_costs, priced
from finn_resnet.parallelism.conv_cost import (
    BIAS_BITS,
    ConvFactors,
    ConvShape,
    conv_dsp,
    dot_products,
    operand_registers,
)
from finn_resnet.parallelism.memory_cost import rom_cost
from finn_resnet.parallelism.requant_cost import requant_cost


@dataclass(frozen=True)
class GroupedShape:
    """``groups`` convolutions of shape ``group`` (och and ich of one group)."""

    group: ConvShape
    groups: int


@dataclass(frozen=True)
class GroupedFactors:
    """Groups of an iteration, output columns, how it multiplies, where cascades end."""

    group_par: int = 1
    ow_par: int = 1
    mac_style: str = "dsp"
    chain_ends: tuple[int, ...] = ()

    def of_group(self, shape: ConvShape) -> ConvFactors:
        """The factors of one group: all its channels at once."""
        return ConvFactors(shape.och, shape.ich, self.ow_par, self.mac_style, self.chain_ends)


def grouped_conv_cycles(shape: GroupedShape, factors: GroupedFactors) -> int:
    """Cycles per frame: oh * ceil(ow/ow_par) * ceil(groups/group_par)."""
    columns = ceil(shape.group.ow / factors.ow_par)
    return shape.group.oh * columns * ceil(shape.groups / factors.group_par)


def grouped_conv_dsp(shape: GroupedShape, factors: GroupedFactors) -> int:
    """DSPs of the multipliers: those of one group, for every group of an iteration."""
    return factors.group_par * conv_dsp(shape.group, factors.of_group(shape.group))


@keeps_costs
def grouped_conv_cost(shape: GroupedShape, factors: GroupedFactors) -> Resources:
    """Resources of the computation task, without streams and weight memory."""
    group, own = shape.group, factors.of_group(shape.group)
    steps = ceil(shape.groups / factors.group_par)
    channels = group.och * factors.group_par
    outputs = channels * factors.ow_par
    cost = priced("conv_task_lut") + priced("hls_task_lut") + priced("conv_task_ff")
    cost += Resources(dsp=grouped_conv_dsp(shape, factors))
    cost += (operand_registers(group, own) + dot_products(group, own)) * factors.group_par
    cost += priced("adder_lut_per_bit", outputs * group.acc_bits)
    cost += priced("accumulate_ff_per_bit", outputs * group.acc_bits)
    cost += rom_cost(steps, channels * BIAS_BITS, "lut")
    for requant in group.requants:
        cost += requant_cost(requant, group.acc_bits, outputs, steps)
    return cost
