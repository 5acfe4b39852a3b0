"""Synthesis of a circuit with Yosys for UltraScale+, and the sites that its cells occupy.

Yosys names cells, the device has sites: a LUT6 holds two functions that together have at most five
inputs, or two shift registers of 16 bits with one address. How many pairs a vendor's placer makes
is not known without it, so sites are counted twice: ``high`` with a site for every cell, ``low``
with every pair that can share a site and has an input in common. A position of a carry chain
without a LUT in front of it occupies one too.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CIRCUITS = Path(__file__).with_name("circuits")
# LUTs that a distributed RAM or a long shift register occupies.
_RAM_LUTS = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "SRLC32E": 1,
}
_MOST_INPUTS = 5
# Nets that more LUTs read (resets, enables) say nothing about which of them could lie together.
_MOST_READERS = 48


def synthesise(
    top: str, parameters: Mapping[str, int | str], options: str = "", sources: Sequence[Path] = ()
) -> dict[str, Any]:
    """Cells of ``top`` (a module of ``circuits/``, or of ``sources``) after
    ``synth_xilinx -family xcup``."""
    from pyosys import libyosys

    design = libyosys.Design()

    def run(command: str) -> None:
        libyosys.run_pass(command, design)

    with quiet(), tempfile.TemporaryDirectory() as folder:
        for path in () if sources else sorted(CIRCUITS.glob("*.v")):
            run(f"read_verilog -sv {path}")
        for path in sources:
            # Modules that nothing instantiates may lack the parameters they need.
            run(f"read_verilog -sv -defer -DSYNTHESIS -I{path.parent} {path}")
        for name, value in parameters.items():
            text = f'"{value}"' if isinstance(value, str) else value
            run(f"chparam -set {name} {text} {top}")
        run(f"synth_xilinx -family xcup -top {top} -noiopad -noclkbuf -flatten {options}".rstrip())
        path = Path(folder) / "netlist.json"
        run(f"write_json {path}")
        modules = json.loads(path.read_text())["modules"].values()
    cells = next(m["cells"] for m in modules if "top" in m["attributes"])
    unknown = {c["type"] for c in cells.values() if c["type"].startswith("$")} - {"$scopeinfo"}
    if unknown:
        raise RuntimeError(f"{top}: cells {sorted(unknown)} were not mapped to the device")
    return cells


def sites(cells: Mapping[str, Any]) -> dict[str, float]:
    """``lut_low, lut_high, ff, dsp, bram36, uram`` that ``cells`` occupy."""
    count = Counter(cell["type"] for cell in cells.values())
    luts = [cell for cell in cells.values() if cell["type"] in {f"LUT{n}" for n in range(1, 7)}]
    bare, selects = _carry(cells, luts)
    memory = sum(size * count[name] for name, size in _RAM_LUTS.items())
    short = Counter(
        tuple(str(cell["connections"][pin]) for pin in ("A0", "A1", "A2", "A3", "CE"))
        for cell in cells.values()
        if cell["type"] == "SRL16E"
    )
    high = len(luts) + bare + memory
    return {
        "lut_low": high - _pairs(luts, selects) + sum(-(-n // 2) for n in short.values()),
        "lut_high": high + sum(short.values()),
        "ff": sum(n for name, n in count.items() if name.startswith("FD")),
        "dsp": count["DSP48E2"],
        "bram36": count["RAMB36E2"] + 0.5 * count["RAMB18E2"],
        "uram": count["URAM288"],
    }


def _carry(cells: Mapping[str, Any], luts: list[Any]) -> tuple[int, set[int]]:
    """Used carry positions with no LUT in front, and the nets that LUTs send to carry chains."""
    outputs = {cell["connections"]["O"][0] for cell in luts}
    readers = Counter(
        bit
        for cell in cells.values()
        for pin, bits in cell["connections"].items()
        if cell["port_directions"].get(pin) == "input"
        for bit in bits
    )
    bare, selects = 0, set()
    for cell in cells.values():
        if cell["type"] not in ("CARRY4", "CARRY8"):
            continue
        pins = cell["connections"]
        for position, select in enumerate(pins["S"]):
            if select in outputs:
                selects.add(select)
            elif readers[pins["O"][position]] or readers[pins["CO"][position]]:
                bare += 1
    return bare, selects


def _pairs(luts: list[Any], selects: set[int]) -> int:
    """Pairs of LUTs that can share a site, taken greedily, largest first.

    Of two LUTs in front of carry chains, each needs its own position.
    """
    inputs = []
    for cell in luts:
        bits = [b for pin, wired in cell["connections"].items() if pin != "O" for b in wired]
        inputs.append(frozenset(bit for bit in bits if isinstance(bit, int)))
    in_carry = [cell["connections"]["O"][0] in selects for cell in luts]
    readers = defaultdict(set)
    small = [n for n in range(len(luts)) if len(inputs[n]) <= _MOST_INPUTS]
    for n in small:
        for bit in inputs[n]:
            readers[bit].add(n)
    near = {bit: found for bit, found in readers.items() if len(found) <= _MOST_READERS}
    free = set(small)
    pairs = 0
    for n in sorted(small, key=lambda n: (-len(inputs[n]), n)):
        if n not in free:
            continue
        others = set().union(*(near.get(bit, ()) for bit in inputs[n])) & free - {n}
        fitting = [
            m
            for m in others
            if len(inputs[n] | inputs[m]) <= _MOST_INPUTS and not (in_carry[n] and in_carry[m])
        ]
        free.discard(n)
        if fitting:
            best = max(fitting, key=lambda m: (len(inputs[n] & inputs[m]), len(inputs[m]), -m))
            free.discard(best)
            pairs += 1
    return pairs


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
