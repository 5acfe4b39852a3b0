"""Measure the small circuits behind single coefficients of the cost model.

Each circuit in ``circuits/`` that is no whole task is a hand-written equivalent of one part of the
generated hardware; its sites stand next to the coefficient that rests on it::

    pip install pyosys
    python benchmarks/cost_model/measure.py [--circuit NAME]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from netlist import sites, synthesise

from finn_resnet.parallelism.coefficients import coefficients


@dataclass(frozen=True)
class Case:
    """A circuit with its parameters, and the coefficient it supports."""

    circuit: str
    coefficient: str
    parameters: dict[str, int | str] = field(default_factory=dict)


_FOURS: dict[str, int | str] = {"FIELDS": 4, "FIELD_BITS": 11}
CASES = [
    Case("conv_control", "conv_task_lut"),
    Case("packed_restore", "packed_restore_lut"),
    Case("packed_restore", "fours_restore_lut", {**_FOURS, "SUM_BITS": 11}),
    Case("packed_restore", "adder_lut_per_bit", {"CHAINS": 2}),
    Case("packed_restore", "adder_lut_per_bit", {"CHAINS": 3}),
    Case("packed_restore", "adder_lut_per_bit", {**_FOURS, "CHAINS": 2, "SUM_BITS": 12}),
    Case("packed_operand", "fours_operand_lut"),
    Case("ram_fifo", "lutram_shallow_bits_per_lut", {"DEPTH": 32, "WIDTH": 14}),
    Case("ram_fifo", "bram36_shapes", {"DEPTH": 512, "WIDTH": 72, "STYLE": "block"}),
    Case("ram_fifo", "uram_shape", {"DEPTH": 4096, "WIDTH": 72, "STYLE": "ultra"}),
    Case("rom", "lut_rom_depth", {"DEPTH": 64, "WIDTH": 16, "STYLE": "logic"}),
    Case("maximum", "compare_lut_per_bit"),
    Case("input_dma", "dma_aligned_lut_per_bit", {"TOKEN": 1}),
    Case("input_dma", "dma_shifter_lut_per_bit", {"TOKEN": 3}),
]


def main() -> None:
    """Measure all cases, or those of one circuit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--circuit", choices=sorted({case.circuit for case in CASES}))
    arguments = parser.parse_args()
    for case in CASES:
        if arguments.circuit not in (None, case.circuit):
            continue
        found = sites(synthesise(case.circuit, case.parameters))
        entry = coefficients()[case.coefficient]
        value = entry.get("value", (entry.get("low"), entry.get("high")))
        parameters = " ".join(f"{key}={value}" for key, value in case.parameters.items())
        print(f"{case.circuit} {parameters}: {found}; {case.coefficient} = {value}", flush=True)


if __name__ == "__main__":
    main()
