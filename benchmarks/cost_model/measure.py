"""Measure the cost model's coefficients with an open synthesiser.

Each circuit in ``circuits/`` is a hand-written equivalent of one part of the generated hardware.
Yosys (PyPI package ``pyosys``) maps it to UltraScale+ cells (``synth_xilinx -family xcup``), and
the cells are counted next to the coefficient that rests on them::

    pip install pyosys
    python benchmarks/cost_model/measure.py [--circuit NAME] [--csv FILE]

Yosys neither packs two small LUTs into one nor merges multiplexers into carry chains as the
vendor's tools do, and leaves carry positions without logic uncounted; both columns are given.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

CIRCUITS = Path(__file__).with_name("circuits")
COEFFICIENTS = (
    Path(__file__).resolve().parents[2] / "finn_resnet" / "parallelism" / "coefficients.json"
)
# LUTs that a distributed RAM cell occupies.
_RAM_LUTS = {"RAM32M16": 8, "RAM64M8": 8, "RAM32M": 4, "RAM64M": 4, "RAM64X1D": 2, "SRL16E": 1}


@dataclass(frozen=True)
class Case:
    """A circuit with its parameters, and the coefficient it supports."""

    circuit: str
    coefficient: str
    parameters: dict[str, int | str] = field(default_factory=dict)
    options: str = ""


@dataclass(frozen=True)
class Measurement:
    """Cells of one case after synthesis; ``carry`` counts carry-chain positions."""

    circuit: str
    parameters: str
    lut: int
    carry: int
    ff: int
    bram36: float
    uram: int
    dsp: int
    coefficient: str
    value: str


CASES = [
    Case("dot_product", "lut_mac", {"TAPS": 1, "SUM_BITS": 17}, "-nodsp"),
    Case("dot_product", "lut_mac", {"TAPS": 9, "SUM_BITS": 20}, "-nodsp"),
    Case("packed_restore", "packed_chain_lut"),
    Case("packed_restore", "packed_extra_chain_lut", {"CHAINS": 2}),
    Case("packed_restore", "packed_extra_chain_lut", {"CHAINS": 3}),
    Case("packed_restore", "fours_chain_lut", {"FIELDS": 4, "FIELD_BITS": 11, "SUM_BITS": 11}),
    Case(
        "packed_restore",
        "fours_extra_chain_lut",
        {"CHAINS": 2, "FIELDS": 4, "FIELD_BITS": 11, "SUM_BITS": 12},
    ),
    Case(
        "packed_restore",
        "fours_extra_chain_lut",
        {"CHAINS": 3, "FIELDS": 4, "FIELD_BITS": 11, "SUM_BITS": 13},
    ),
    Case("packed_operand", "fours_operand_lut"),
    Case("shift_requant", "shift_requant_lut"),
    Case("shift_requant", "shift_requant_lut", {"SIGNED": 1}),
    Case("accumulator", "adder_lut_per_bit", {"GROUPS": 8}),
    Case("accumulator", "adder_lut_per_bit", {"GROUPS": 32}),
    Case("conv_control", "conv_task_lut"),
    Case("window_slice", "slice_lut"),
    Case("window_slice", "slice_lut", {"STRIDE": 2}),
    Case("window_row", "row_lut"),
    Case("window_row", "row_lut", {"STRIDE": 2}),
    Case("window_pad", "pad_lut_per_tap"),
    Case("window_join", "pad_lut_per_edge"),
    Case("window_join", "pad_lut_per_edge", {"COLUMNS": 13, "STEP": 11}),
    Case("shift_fifo", "fifo_control_lut", {"DEPTH": 2}),
    Case("ram_fifo", "fifo_control_lut_per_address_bit", {"DEPTH": 64}),
    Case("ram_fifo", "lutram_shallow_bits_per_lut", {"DEPTH": 32, "WIDTH": 14}),
    Case("ram_fifo", "bram36_shapes", {"DEPTH": 512, "WIDTH": 72, "STYLE": "block"}),
    Case("ram_fifo", "uram_shape", {"DEPTH": 4096, "WIDTH": 72, "STYLE": "ultra"}),
    Case("rom", "lut_rom_depth", {"DEPTH": 64, "WIDTH": 16, "STYLE": "logic"}),
    Case("maximum", "compare_lut_per_bit"),
    Case("width_adapter", "mux_lut_per_input_bit", {"IN_PAR": 4, "OUT_PAR": 1}),
    Case("width_adapter", "mux_lut_per_input_bit", {"IN_PAR": 1, "OUT_PAR": 4}),
    Case("width_adapter", "mux_lut_per_input_bit", {"IN_PAR": 3, "OUT_PAR": 2}),
    Case("input_dma", "dma_shifter_lut_per_bit", {"TOKEN": 1}),
    Case("input_dma", "dma_shifter_lut_per_bit", {"TOKEN": 3}),
]


def synthesise(case: Case) -> dict[str, int]:
    """Cells by type after ``synth_xilinx -family xcup``."""
    from pyosys import libyosys

    design = libyosys.Design()

    def run(command: str) -> None:
        libyosys.run_pass(command, design)

    run(f"read_verilog {CIRCUITS / case.circuit}.v")
    for name, value in case.parameters.items():
        text = f'"{value}"' if isinstance(value, str) else value
        run(f"chparam -set {name} {text} {case.circuit}")
    run(f"synth_xilinx -family xcup -top {case.circuit} -noiopad -noclkbuf {case.options}".rstrip())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.json"
        run(f"tee -q -o {path} stat -json")
        text = path.read_text()
    return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]


def measure(case: Case) -> Measurement:
    """Synthesise a case and count its cells."""
    cells = synthesise(case)
    unknown = [name for name in cells if name.startswith("$")]
    if unknown:
        raise RuntimeError(f"{case.circuit}: cells {unknown} were not mapped to the device")

    def count(*prefixes: str) -> int:
        return sum(n for name, n in cells.items() if name.startswith(prefixes))

    known = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    return Measurement(
        circuit=case.circuit,
        parameters=" ".join(f"{k}={v}" for k, v in case.parameters.items()),
        lut=count("LUT") + sum(_RAM_LUTS.get(name, 0) * n for name, n in cells.items()),
        carry=4 * cells.get("CARRY4", 0) + 8 * cells.get("CARRY8", 0),
        ff=count("FD"),
        bram36=cells.get("RAMB36E2", 0) + 0.5 * cells.get("RAMB18E2", 0),
        uram=cells.get("URAM288", 0),
        dsp=cells.get("DSP48E2", 0),
        coefficient=case.coefficient,
        value=str(known[case.coefficient]["value"]),
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Send the synthesiser's log, which it writes to file descriptor 1, to nowhere."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def main() -> None:
    """Measure all cases, or those of one circuit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--circuit", choices=sorted({case.circuit for case in CASES}))
    parser.add_argument("--csv", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    columns = [column.name for column in fields(Measurement)]
    rows = []
    print(" | ".join(columns))
    for case in CASES:
        if arguments.circuit not in (None, case.circuit):
            continue
        with quiet():
            found = asdict(measure(case))
        rows.append(found)
        print(" | ".join(str(found[column]) for column in columns), flush=True)
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
