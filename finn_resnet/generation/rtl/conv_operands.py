"""Operands of a convolution's multipliers, each at the clock its cascade takes it.

Time 0 is the clock in which an iteration starts: its window and weights are taken, and the
counters stand at it. Tap `t` of a `Multiplication` takes its operands at `base + skews[t]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from finn_resnet.generation.rtl.circuit import Circuit, packed, signed_bits
from finn_resnet.generation.rtl.conv_layer import Multiplication
from finn_resnet.generation.rtl.requant_rtl import ChannelEntry, requant_latency, requantise
from finn_resnet.numerics.ranges import Range

_BLOCK_ROM_CLOCKS = 2
# Copies of a window that are kept one after the other for late taps; later ones go through delays.
_HELD_COPIES = 4


def address_bits(depth: int) -> int:
    """Bits of an address, at least one."""
    return max((depth - 1).bit_length(), 1)


def extended(signal: str, codes: Range, bits: int) -> str:
    """Expression of ``bits`` signed bits for a signal of ``codes.bits`` bits."""
    missing = bits - codes.bits
    if missing <= 0:
        return signal if missing == 0 else f"{signal}[{bits - 1}:0]"
    fill = f"{{{missing}{{{signal}[{codes.bits - 1}]}}}}" if codes.signed else f"{missing}'d0"
    return f"{{{fill}, {signal}}}"


@dataclass(frozen=True)
class WeightPort:
    """Weights that come over a stream: the token's signal and the range of its codes."""

    signal: str
    codes: Range


class Operands:
    """Instantiates what brings activations and weights to the multipliers of ``m``.

    ``weights`` is a port, or the memory's style (lut, bram); ``window`` the window's signal.
    """

    def __init__(
        self,
        circuit: Circuit,
        m: Multiplication,
        prefix: str,
        window: tuple[str, Range],
        weights: WeightPort | str,
    ) -> None:
        self._circuit, self._m, self._prefix = circuit, m, prefix
        self._window, self._window_codes = window
        self._weights = weights
        self.x_bits = signed_bits(m.codes.including(0))
        self.w_bits = signed_bits(m.weight_codes)
        self._held_at = 1 + requant_latency(m.in_requant)
        rom = _BLOCK_ROM_CLOCKS if weights == "bram" and m.sizes.words > 1 else 0
        self.base = max(self._held_at, 1 + rom)
        self._positions = sorted(
            {m.position(lane, t) for lane in range(m.sizes.ow_par) for t in range(m.taps)}
        )
        self._copies = [self._hold(self._requantised(), 0)]
        self._words = self._weight_words()

    def time(self, tap: int) -> int:
        """Clock at which a tap takes its operands."""
        return self.base + self._m.skews[tap]

    def load(self, tap: int) -> str:
        """Signal that tells a tap to take a new activation."""
        if self._m.sizes.out_groups == 1:
            return "1'b1"
        return self._circuit.delayed("load", 1, self.time(tap), chain=True)

    def x(self, lane: int, tap: int) -> str:
        """Activation of a tap for a column, ``x_bits`` signed bits."""
        place = self._positions.index(self._m.position(lane, tap)) * self.x_bits
        groups = self._m.sizes.out_groups
        late = self.time(tap) - self._held_at
        copy = late // groups
        if groups > 1 and copy < _HELD_COPIES:
            while len(self._copies) <= copy:
                self._copies.append(self._hold(self._copies[-1], len(self._copies) * groups))
            return f"{self._copies[copy]}[{place}+:{self.x_bits}]"
        key = f"{self._prefix}x{self._m.position(lane, tap)}"
        if key not in self._slices:
            self._slices[key] = self._circuit.wire(
                key, self.x_bits, f"{self._copies[0]}[{place}+:{self.x_bits}]"
            )
        return self._circuit.delayed(self._slices[key], self.x_bits, late)

    def w(self, entry: int, tap: int) -> str:
        """Weight of a tap for an entry of the output channel group, ``w_bits`` signed bits."""
        return f"{self._words[tap]}[{entry * self.w_bits}+:{self.w_bits}]"

    def start(self, entries: list[tuple[int, int]], bits: int, time: int) -> str:
        """Start value: ``sum(start of entry << shift)`` for ``(entry, shift)``, at clock ``time``.

        It is that of the bias in the first input channel group, 0 in later ones.
        """
        groups = self._m.sizes.out_groups
        values = [
            sum(int(self._m.starts[entry][g]) << shift for entry, shift in entries)
            for g in range(groups)
        ]
        if self._m.sizes.in_groups > 1:
            # The address is {first input channel group, output channel group}.
            half = (1 << address_bits(groups)) if groups > 1 else 1
            values = [0] * half + values + [0] * (half - groups)
        name = self._circuit.wire(f"{self._prefix}start", bits)
        width = address_bits(len(values))
        address = self._circuit.delayed("start_address", width, time, chain=True)
        self._rom(values, bits, address if len(values) > 1 else "1'b0", name)
        return name

    _slices: dict[str, str]

    def _requantised(self) -> str:
        """All codes the taps read, requantised, side by side."""
        self._slices = {}
        m, bits, parts = self._m, self._window_codes.bits, []
        for position in self._positions:
            code = f"{self._window}[{position * bits}+:{bits}]"
            codes = self._window_codes
            raw = self._circuit.wire(f"{self._prefix}code", bits, code)
            if m.in_requant.stages:
                wide = signed_bits(codes)
                x = self._circuit.wire(
                    f"{self._prefix}raw", wide, extended(raw, codes, wide), signed=True
                )
                channel = ChannelEntry(m.sizes.ich, m.sizes.ich_par, position % m.sizes.ich_par)
                raw, codes = requantise(
                    self._circuit, m.in_requant, x, codes, channel, self._in_group
                )
            parts.append(extended(raw, codes, self.x_bits))
        joined = "{" + ", ".join(reversed(parts)) + "}"
        return self._circuit.wire(f"{self._prefix}codes", len(parts) * self.x_bits, joined)

    def _in_group(self, late: int) -> str:
        return self._circuit.delayed("in_group", address_bits(self._m.sizes.in_groups), late)

    def _hold(self, source: str, late: int) -> str:
        width = len(self._positions) * self.x_bits
        name = self._circuit.wire(f"{self._prefix}window", width)
        load = "1'b1"
        if self._m.sizes.out_groups > 1:
            load = self._circuit.delayed("load", 1, self._held_at - 1 + late, chain=True)
        connections = {"load": load, "in": source, "out": name}
        self._circuit.instance("conv_hold", f"{name}_copy", {"WIDTH": width}, connections, "clk")
        return name

    def _weight_words(self) -> list[str]:
        """For every tap the signal of all entries' weights."""
        if isinstance(self._weights, WeightPort):
            return [self._streamed(self._weights, tap) for tap in range(self._m.taps)]
        if self._weights == "bram" and self._m.sizes.words > 1:
            return self._block_words()
        return [self._tap_rom(tap) for tap in range(self._m.taps)]

    def _streamed(self, port: WeightPort, tap: int) -> str:
        codes, parts = port.codes, []
        for entry in range(self._m.sizes.och_par):
            place = (entry * self._m.taps + tap) * codes.bits
            weight = self._circuit.wire(
                f"{self._prefix}w", codes.bits, f"{port.signal}[{place}+:{codes.bits}]"
            )
            parts.append(extended(weight, codes, self.w_bits))
        width = len(parts) * self.w_bits
        joined = "{" + ", ".join(reversed(parts)) + "}"
        word = self._circuit.wire(f"{self._prefix}word", width, joined)
        return self._circuit.delayed(word, width, self.time(tap))

    def _tap_rom(self, tap: int) -> str:
        width = self._m.sizes.och_par * self.w_bits
        name = self._circuit.wire(f"{self._prefix}word", width)
        address = self._word_address(self.time(tap))
        self._rom(
            [self._word(word, [tap]) for word in range(self._m.sizes.words)], width, address, name
        )
        return name

    def _block_words(self) -> list[str]:
        """Taps that follow each other share a block RAM word; the later ones are delayed."""
        width = self._m.sizes.och_par * self.w_bits
        depth = self._m.sizes.words
        fits = 72 if depth <= 512 else 36 if depth <= 1024 else 18
        order = sorted(range(self._m.taps), key=self._m.skews.__getitem__)
        count, words = max(fits // width, 1), [""] * self._m.taps
        for first in range(0, len(order), count):
            taps = order[first : first + count]
            name = self._circuit.wire(f"{self._prefix}block", width * len(taps))
            contents = packed((self._word(word, taps) for word in range(depth)), width * len(taps))
            time = self.time(taps[0])
            self._circuit.instance(
                "conv_block_rom",
                f"{name}_rom",
                {"DEPTH": depth, "WIDTH": width * len(taps), "WORDS": contents},
                {"address": self._word_address(time - _BLOCK_ROM_CLOCKS), "q": name},
                "clk",
            )
            for place, tap in enumerate(taps):
                part = self._circuit.wire(
                    f"{self._prefix}word", width, f"{name}[{place * width}+:{width}]"
                )
                words[tap] = self._circuit.delayed(part, width, self.time(tap) - time)
        return words

    def _word(self, word: int, taps: list[int]) -> int:
        """All entries' weights of the taps side by side."""
        mask, value = (1 << self.w_bits) - 1, 0
        for place, tap in enumerate(taps):
            for entry in range(self._m.sizes.och_par):
                shift = (place * self._m.sizes.och_par + entry) * self.w_bits
                value |= (int(self._m.rows[entry][word][tap]) & mask) << shift
        return value

    def _word_address(self, time: int) -> str:
        words = self._m.sizes.words
        if words == 1:
            return "1'b0"
        return self._circuit.delayed("word", address_bits(words), time, chain=True)

    def _rom(self, values: list[int], width: int, address: str, q: str) -> None:
        parameters = {"DEPTH": len(values), "WIDTH": width, "WORDS": packed(values, width)}
        self._circuit.instance("conv_rom", f"{q}_rom", parameters, {"address": address, "q": q}, "")
