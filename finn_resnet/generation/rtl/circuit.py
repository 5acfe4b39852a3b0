"""Text of a generated SystemVerilog module: wires, instances of library modules, delays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from finn_resnet.numerics.ranges import Range

# A delay of up to so many clocks is made of registers.
_SHARED_CYCLES = 2

_WAIVER = """\
// Shared words are declared whole, though some of their codes and counters have no reader.
/* verilator lint_off UNUSEDSIGNAL */
"""


def signed_bits(codes: Range) -> int:
    """Two's complement bits that hold the range."""
    return codes.bits + (not codes.signed)


def packed(values: Iterable[int], bits: int) -> str:
    """Literal of all values side by side, ``bits`` each, the first lowest."""
    word, count = 0, 0
    for count, value in enumerate(values, 1):
        word |= (int(value) & ((1 << bits) - 1)) << (bits * (count - 1))
    return f"{count * bits}'h{word:x}"


class Circuit:
    """One module under construction.

    Signals are names; `delayed` keeps what it has made, so that equal delays are shared.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._ports: list[str] = ["input wire clk", "input wire rst"]
        self._body: list[str] = []
        self._delays: dict[tuple[str, int], str] = {}
        self._counts: dict[str, int] = {}

    def port(self, direction: str, name: str, bits: int = 1, lanes: int = 0) -> str:
        """A port; with ``lanes`` a packed array of so many."""
        dimensions = f"[{lanes - 1}:0]" * (lanes > 0)
        self._ports.append(f"{direction} wire {dimensions}[{bits - 1}:0] {name}")
        return name

    def stream_port(self, direction: str, name: str, bits: int, lanes: int = 0) -> None:
        """Valid, ready and data of a stream, ``bits`` a token."""
        back = "output" if direction == "input" else "input"
        self.port(direction, f"{name}_valid", max(lanes, 1))
        self.port(back, f"{name}_ready", max(lanes, 1))
        self.port(direction, f"{name}_data", bits, lanes)

    def unique(self, stem: str) -> str:
        """A name that no other signal or instance has."""
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        return f"{stem}_{count}" if count else stem

    def wire(self, stem: str, bits: int = 1, value: str = "", signed: bool = False) -> str:
        """Declare a wire, with the expression that drives it if there is one; its name."""
        name = self.unique(stem)
        kind = "wire signed" if signed else "wire"
        driven = f" = {value}" if value else ""
        self._body.append(f"  {kind} [{bits - 1}:0] {name}{driven};")
        return name

    def assign(self, target: str, value: str) -> None:
        """Drive a declared wire or port."""
        self._body.append(f"  assign {target} = {value};")

    def instance(
        self,
        module: str,
        stem: str,
        parameters: Mapping[str, int | str],
        connections: Mapping[str, str],
        clocks: str = "clk rst",
    ) -> None:
        """Instantiate a module of the library; ``clocks`` are ports of the same name."""
        values = ", ".join(f".{name}({value})" for name, value in parameters.items())
        ends = [f".{name}" for name in clocks.split()]
        ends += [f".{name}({signal})" for name, signal in connections.items()]
        self._body.append(f"  {module} #({values}) {self.unique(stem)} ({', '.join(ends)});")

    def delayed(
        self, signal: str, bits: int, cycles: int, *, chain: bool = False, cleared: bool = False
    ) -> str:
        """``signal`` so many clocks later; ``cleared`` is 0 after a reset.

        The first clocks of a long delay are registers that shorter delays share, the rest is a
        shift register in LUTs. With ``chain``, and where it is cleared, registers all the way.
        """
        if cycles == 0:
            return signal
        key = (signal, cycles)
        if key not in self._delays:
            registers = chain or cleared or cycles <= _SHARED_CYCLES
            source = signal
            if registers:
                source = self.delayed(signal, bits, cycles - 1, chain=True, cleared=cleared)
            name = self.wire(f"{signal}_d{cycles}", bits)
            self.instance(
                "conv_delay",
                f"{name}_delay",
                {"WIDTH": bits, "CYCLES": 1 if registers else cycles, "CLEARED": int(cleared)},
                {"in": source, "out": name},
            )
            self._delays[key] = name
        return self._delays[key]

    def text(self) -> str:
        """The module."""
        ports = ",\n    ".join(self._ports)
        body = "\n".join(self._body)
        return f"{_WAIVER}module {self.name} (\n    {ports}\n);\n{body}\nendmodule\n"
