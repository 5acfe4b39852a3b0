"""The multipliers of a convolution: a column for each tile and cascade, and their sums."""

from __future__ import annotations

from math import ceil, log2

from finn_resnet.generation.rtl.circuit import Circuit, signed_bits
from finn_resnet.generation.rtl.conv_layer import FIELD_BITS, Multiplication, Tile
from finn_resnet.generation.rtl.conv_operands import Operands
from finn_resnet.numerics.ranges import Range

# From a tap's operands to the cascade's output.
_SLICE_CLOCKS = 4

Sums = dict[tuple[int, int], tuple[str, int]]
"""Signed signal and its bits, by entry of the output channel group and column."""


def sums_at(m: Multiplication, base: int) -> int:
    """Clock of the sums: cascade, tree of the cascades' outputs, restoring."""
    return base + m.depth - 1 + _SLICE_CLOCKS + ceil(log2(len(m.chains))) + 1


class MacArray:
    """Instantiates the columns of ``m``; `sums` are there at clock `sums_at`."""

    def __init__(self, circuit: Circuit, m: Multiplication, operands: Operands, prefix: str):
        self._circuit, self._m, self._operands, self._prefix = circuit, m, operands, prefix
        self.sums: Sums = {}
        for tile, in_lut in m.tiles():
            if in_lut:
                self._lut(tile)
            elif len(tile.sums) == 1:
                self._single(tile)
            else:
                self._pair(tile)

    def _pair(self, tile: Tile) -> None:
        """Two sums side by side in P."""
        (low, _), (high, _) = tile.sums
        low_bits = signed_bits(self._m.sum_range(low))
        high_bits = signed_bits(self._m.sum_range(high))
        mod_bits = max(low_bits - FIELD_BITS, 0)
        p = self._cascades(tile, FIELD_BITS + max(high_bits, mod_bits), mod_bits)
        names = [
            self._circuit.wire(f"{self._prefix}sum", n, signed=True) for n in (low_bits, high_bits)
        ]
        self._circuit.instance(
            "mac_restore",
            f"{names[0]}_restore",
            {
                "FIELD": FIELD_BITS,
                "MOD_BITS": mod_bits,
                "LOW_BITS": low_bits,
                "HIGH_BITS": high_bits,
            },
            {"p": f"48'({p[0]})", "mod": p[1], "low": names[0], "high": names[1]},
            "clk",
        )
        self.sums |= dict(
            zip(tile.sums, zip(names, (low_bits, high_bits), strict=True), strict=True)
        )

    def _single(self, tile: Tile) -> None:
        bits = signed_bits(self._m.sum_range(tile.entries[0]))
        self._register(tile, self._cascades(tile, bits, 0)[0], bits)

    def _register(self, tile: Tile, source: str, bits: int) -> None:
        """A sum that needs no restoring waits for the others."""
        late = self._circuit.delayed(source, bits, 1)
        name = self._circuit.wire(f"{self._prefix}sum", bits, late, signed=True)
        self.sums[tile.sums[0]] = name, bits

    def _cascades(self, tile: Tile, bits: int, mod_bits: int) -> tuple[str, str]:
        """Sum of all cascades' outputs, and of their high sums modulo 2^mod_bits."""
        parts = [self._column(tile, chain, mod_bits) for chain in self._m.chains]
        p = self._tree([f"{name}[{bits - 1}:0]" for name, _ in parts], bits)
        mods = [mod for _, mod in parts]
        return p, self._tree(mods, mod_bits) if mod_bits else "1'b0"

    def _column(self, tile: Tile, chain: range, mod_bits: int) -> tuple[str, str]:
        ops, by_columns = self._operands, len(tile.lanes) == 2
        time, width = ops.time(chain.start), max(mod_bits, 1)
        p = self._circuit.wire(f"{self._prefix}p", 48)
        mod = self._circuit.wire(f"{self._prefix}mod", width)
        start, start_mod = self._starts(tile, chain, time, mod_bits)
        if by_columns:
            lo, hi = ([ops.x(lane, t) for t in chain] for lane in tile.lanes)
            narrow, bits = [ops.w(tile.entries[0], t) for t in chain], (ops.x_bits, ops.w_bits)
        else:
            lo = [ops.w(tile.entries[0], t) for t in chain]
            hi = [ops.w(tile.entries[-1], t) for t in chain]
            narrow, bits = [ops.x(tile.lanes[0], t) for t in chain], (ops.w_bits, ops.x_bits)
            if len(tile.entries) == 1:
                hi = [f"{ops.w_bits}'d0" for _ in chain]
        loads, always = _joined([ops.load(t) for t in chain]), f"{{{len(chain)}{{1'b1}}}}"
        self._circuit.instance(
            "mac_column",
            f"{p}_column",
            {
                **{"TAPS": len(chain), "FIELD": FIELD_BITS, "MOD_BITS": mod_bits},
                **{"WIDE_BITS": bits[0], "NARROW_BITS": bits[1]},
            },
            {
                **{"hi": _joined(hi), "lo": _joined(lo), "narrow": _joined(narrow)},
                "load_wide": loads if by_columns else always,
                "load_narrow": always if by_columns else loads,
                **{"start": start, "start_mod": start_mod, "p": p, "mod": mod},
            },
            "clk",
        )
        return p, mod

    def _starts(self, tile: Tile, chain: range, time: int, mod_bits: int) -> tuple[str, str]:
        """Start values of a column: only the first cascade has one."""
        if chain.start:
            return "48'd0", f"{max(mod_bits, 1)}'d0"
        shifts = [FIELD_BITS * n for n in range(len(tile.sums))]
        entries = [entry for entry, _ in tile.sums]
        pairs = list(zip(entries, shifts, strict=True))
        start = self._operands.start(pairs, 48, time + 2)
        if not mod_bits:
            return start, "1'b0"
        return start, self._operands.start([(entries[-1], 0)], mod_bits, time + 1)

    def _lut(self, tile: Tile) -> None:
        """One sum with its multipliers in LUTs."""
        (entry, lane), ops = tile.sums[0], self._operands
        bits, parts = signed_bits(self._m.sum_range(entry)), []
        for chain in self._m.chains:
            name = self._circuit.wire(f"{self._prefix}part", bits)
            time = ops.time(chain.start)
            start = f"{bits}'d0" if chain.start else ops.start([(entry, 0)], bits, time + 2)
            self._circuit.instance(
                "mac_lut_column",
                f"{name}_column",
                {
                    **{"TAPS": len(chain), "SUM_BITS": bits},
                    **{"X_BITS": ops.x_bits, "W_BITS": ops.w_bits},
                },
                {
                    "x": _joined([ops.x(lane, t) for t in chain]),
                    "w": _joined([ops.w(entry, t) for t in chain]),
                    "load_x": _joined([ops.load(t) for t in chain]),
                    **{"start": start, "sum": name},
                },
                "clk",
            )
            parts.append(name)
        self._register(tile, self._tree(parts, bits), bits)

    def _tree(self, terms: list[str], bits: int) -> str:
        """Sum of all terms."""
        name = self._circuit.wire(f"{self._prefix}added", bits, terms[0] if len(terms) == 1 else "")
        if len(terms) > 1:
            parameters = {"TERMS": len(terms), "WIDTH": bits}
            ports = {"terms": _joined(terms), "sum": name}
            self._circuit.instance("conv_sum", f"{name}_tree", parameters, ports, "clk")
        return name


def _joined(parts: list[str]) -> str:
    """All parts side by side, the first lowest."""
    return "{" + ", ".join(reversed(parts)) + "}"


def shifted(signal: str, codes: Range, bits: int, shift: int) -> str:
    """Expression of a code (``codes.bits`` bits) times ``2**shift``, ``bits`` signed bits."""
    sign = f"$signed({signal})" if codes.signed else f"$signed({{1'b0, {signal}}})"
    return f"({bits}'({sign}) <<< {shift})"
