"""SystemVerilog of a StreamConv: one module that instantiates the library's parts.

`conv_control` starts an iteration in every clock in which all it needs is there. What follows is a
pipeline that nothing stops: operands and multipliers (`conv_operands`, `conv_sums`), accumulators,
requantisers, and `conv_output`, whose places are reserved when an iteration starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from finn_resnet.generation.rtl.circuit import Circuit, signed_bits
from finn_resnet.generation.rtl.conv_layer import ConvSizes, Multiplication
from finn_resnet.generation.rtl.conv_operands import Operands, WeightPort, address_bits
from finn_resnet.generation.rtl.conv_sums import MacArray, Sums, shifted, sums_at
from finn_resnet.generation.rtl.requant_rtl import ChannelEntry, requant_latency, requantise
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser

_SKIP_CODES = {"none": 0, "accumulator": 1, "epilogue": 2}


@dataclass(frozen=True)
class Skip:
    """The skip input: form (accumulator or epilogue), codes, shifts and, in the epilogue,
    multipliers of the code that the accumulator becomes and of the skip code."""

    form: str
    codes: Range
    acc_shift: int
    skip_shift: int
    acc_mult: int = 1
    skip_mult: int = 1


@dataclass(frozen=True)
class Branch:
    """A convolution or its merged downsample, from window to output port.

    ``weights`` is the range of a weights port's codes, or the memory's style (lut, bram);
    ``acc`` the range of the finished accumulator without rounding, ``total`` that of the sum with
    the skip value, ``requant`` what the output goes through last, ``depth`` the tokens the output
    holds beyond those on their way.
    """

    port: str
    mac: Multiplication
    weights: Range | str
    acc: Range
    total: Range
    requant: Requantiser
    out: Range
    depth: int
    skip: Skip | None = None


@dataclass(frozen=True)
class ConvLayer:
    """A StreamConv: name of its module, sizes, codes of the window, one or two branches."""

    name: str
    sizes: ConvSizes
    window: Range
    branches: tuple[Branch, ...]

    @property
    def skip(self) -> Skip | None:
        """The skip input."""
        return self.branches[0].skip


@dataclass
class ConvCircuit:
    """Builds the module of a layer; `text` is it.

    ``latency`` has, for each branch, the clocks from an iteration's start to its token at the
    output port, ``depths`` the tokens its output holds for each column.
    """

    layer: ConvLayer
    latency: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        """The module."""
        self._circuit = Circuit(self.layer.name)
        self._window_port()
        ports = [self._weights_port(branch) for branch in self.layer.branches]
        if self.layer.skip:
            bits = self.layer.skip.codes.bits * self.layer.sizes.och_par
            self._circuit.stream_port("input", "skip", bits, self.layer.sizes.ow_par)
        self._control()
        rooms = []
        for branch, port in zip(self.layer.branches, ports, strict=True):
            rooms.append(_BranchCircuit(self, branch, port).room)
        self._circuit.assign("room", " & ".join(rooms))
        return self._circuit.text()

    @property
    def circuit(self) -> Circuit:
        """The module under construction."""
        return self._circuit

    def _window_port(self) -> None:
        self._circuit.stream_port(
            "input", "window", self.layer.window.bits * self.layer.sizes.window_codes
        )

    def _weights_port(self, branch: Branch) -> WeightPort | str:
        if isinstance(branch.weights, str):
            return branch.weights
        name = "weights" if branch.port == "out" else "ds_weights"
        entries = self.layer.sizes.och_par * branch.mac.taps
        self._circuit.stream_port("input", name, branch.weights.bits * entries)
        return WeightPort(f"{name}_data", branch.weights)

    def _control(self) -> None:
        """Counters, and the signals the other parts name."""
        s, c = self.layer.sizes, self._circuit
        for name in ("room", "reserve"):
            c.wire(name, s.ow_par)
        for name in ("step", "load", "first"):
            c.wire(name)
        c.wire("word", address_bits(s.words))
        c.wire("in_group", address_bits(s.in_groups))
        c.wire("out_group", address_bits(s.out_groups))
        parts = ["first"] * (s.in_groups > 1) + ["out_group"] * (s.out_groups > 1)
        bits = (s.in_groups > 1) + address_bits(s.out_groups) * (s.out_groups > 1)
        c.wire("start_address", max(bits, 1), f"{{{', '.join(parts)}}}" if parts else "1'b0")
        streamed = ["weights", "ds_weights"][: len(self.layer.branches)]
        streamed = [
            name
            for name, branch in zip(streamed, self.layer.branches, strict=True)
            if not isinstance(branch.weights, str)
        ]
        for name in streamed:
            c.assign(f"{name}_ready", "step")
        valid = " & ".join(f"{name}_valid" for name in streamed) or "1'b1"
        self._control_instance(valid)

    def _control_instance(self, weights_valid: str) -> None:
        s, skip = self.layer.sizes, self.layer.skip
        ports = ["step", "load", "first", "word", "in_group", "out_group", "room", "reserve"]
        ready = "skip_ready" if skip else self._circuit.wire("unused_ready", s.ow_par)
        self._circuit.instance(
            "conv_control",
            "control",
            {
                "IN_GROUPS": s.in_groups,
                "OUT_GROUPS": s.out_groups,
                "COLUMN_GROUPS": s.column_groups,
                "LANES": s.ow_par,
                "LAST_LANES": s.ow - (s.column_groups - 1) * s.ow_par,
                "SKIP": _SKIP_CODES[skip.form if skip else "none"],
            },
            {
                **{"window_valid": "window_valid", "window_ready": "window_ready"},
                "weights_valid": weights_valid,
                "skip_valid": "skip_valid" if skip else f"{{{s.ow_par}{{1'b1}}}}",
                "skip_ready": ready,
                **{name: name for name in ports},
            },
        )


class _BranchCircuit:
    """One branch: from the shared control to its output port. `room` tells each column's room."""

    def __init__(self, whole: ConvCircuit, branch: Branch, weights: WeightPort | str) -> None:
        self._whole, self._branch = whole, branch
        self._circuit, self._sizes = whole.circuit, whole.layer.sizes
        prefix = f"{branch.port}_"
        window = ("window_data", whole.layer.window)
        self._operands = Operands(self._circuit, branch.mac, prefix, window, weights)
        sums = MacArray(self._circuit, branch.mac, self._operands, prefix).sums
        self._time = sums_at(branch.mac, self._operands.base)
        codes = {place: self._value(place, sums) for place in sums}
        self._time += self._latency()
        self.room = self._output(codes)

    def _latency(self) -> int:
        """Clocks from the sums to the codes."""
        branch, late = self._branch, 0
        added = branch.mac.rounding_added
        late += self._accumulates
        if branch.skip and branch.skip.form == "epilogue":
            late += requant_latency(branch.mac.requant, added) + 1
            added = False
        return late + requant_latency(branch.requant, added)

    @property
    def _accumulates(self) -> bool:
        skip = self._branch.skip
        return self._sizes.in_groups > 1 or (skip is not None and skip.form == "accumulator")

    def _group(self, time: int) -> str:
        return self._circuit.delayed("out_group", address_bits(self._sizes.out_groups), time)

    def _value(self, place: tuple[int, int], sums: Sums) -> tuple[str, Range]:
        """The code of a sum, and its range."""
        branch, mac, entry = self._branch, self._branch.mac, place[0]
        time, channel = self._time, ChannelEntry(self._sizes.och, self._sizes.och_par, entry)
        skip = branch.skip
        joins = skip is not None and skip.form == "accumulator"
        kept = branch.total if joins else branch.acc
        addend = mac.addend << mac.sum_shift
        kept = Range(kept.lo + addend, kept.hi + addend).including(0)
        acc = self._accumulated(place, sums[place], kept)
        time += self._accumulates
        added = mac.rounding_added
        if skip is not None and skip.form == "epilogue":
            code, codes = requantise(
                *(self._circuit, mac.requant, acc, kept, channel),
                lambda late: self._group(time + late),
                added=added,
            )
            time += requant_latency(mac.requant, added)
            acc = self._joined(place, (code, codes), time)
            time, added, kept = time + 1, False, branch.total.including(0)
        return requantise(
            *(self._circuit, branch.requant, acc, kept, channel),
            lambda late: self._group(time + late),
            added=added,
        )

    def _accumulated(self, place: tuple[int, int], value: tuple[str, int], kept: Range) -> str:
        """The finished accumulator, signed."""
        bits, (sum_name, sum_bits) = signed_bits(kept), value
        name = self._circuit.wire(f"{self._branch.port}_acc", bits, signed=True)
        if not self._accumulates:
            self._circuit.assign(name, f"{bits}'({sum_name})")
            return name
        skip, initial = self._branch.skip, f"{bits}'d0"
        if skip is not None and skip.form == "accumulator":
            initial = self._skip_value(place, bits, self._time - 1)
        groups, shift = self._sizes.in_groups, self._branch.mac.sum_shift
        self._adder(name, (sum_name, sum_bits), bits, initial, self._time, groups, shift)
        return name

    def _joined(self, place: tuple[int, int], code: tuple[str, Range], time: int) -> str:
        """Epilogue: the requantised accumulator, with the skip value."""
        branch, (signal, codes) = self._branch, code
        bits = signed_bits(branch.total.including(0))
        name = self._circuit.wire("total", bits, signed=True)
        width = signed_bits(codes.times(branch.skip.acc_mult).including(0))
        product = f"{shifted(signal, codes, width, 0)} * {width}'sd{branch.skip.acc_mult}"
        wide = self._circuit.wire("joined", width, product, signed=True)
        initial = self._skip_value(place, bits, time - 1)
        self._adder(name, (wide, width), bits, initial, time, 1, branch.skip.acc_shift)
        return name

    def _adder(
        self,
        name: str,
        value: tuple[str, int],
        bits: int,
        initial: str,
        time: int,
        groups: int,
        shift: int,
    ) -> None:
        """``name`` = accumulator of ``value * 2^shift``, which is there at ``time``."""
        self._circuit.instance(
            "conv_accumulator",
            f"{name}_sum",
            {
                **{"SUM_BITS": value[1], "ACC_BITS": bits, "IN_GROUPS": groups},
                **{"OUT_GROUPS": self._sizes.out_groups, "SHIFT": shift},
            },
            {
                "valid": self._circuit.delayed("step", 1, time, cleared=True),
                "first": self._circuit.delayed("first", 1, time - 1, chain=True),
                "group": self._group(time - 1),
                **{"initial_value": initial, "sum": value[0], "acc": name},
            },
            "clk",
        )

    def _skip_value(self, place: tuple[int, int], bits: int, time: int) -> str:
        """The skip code of a sum times 2^skip_shift, at ``time``."""
        (entry, lane), skip = place, self._branch.skip
        codes = skip.codes
        raw = self._circuit.wire(
            "skip_code", codes.bits, f"skip_data[{lane}][{entry * codes.bits}+:{codes.bits}]"
        )
        late = self._circuit.delayed(raw, codes.bits, time)
        return f"{shifted(late, codes, bits, skip.skip_shift)} * {bits}'sd{skip.skip_mult}"

    def _output(self, codes: dict[tuple[int, int], tuple[str, Range]]) -> str:
        """Tokens into the output's FIFOs; the signal of each column's room."""
        s, c, branch = self._sizes, self._circuit, self._branch
        bits = branch.out.bits
        c.stream_port("output", branch.port, bits * s.och_par, s.ow_par)
        room = c.wire(f"{branch.port}_room", s.ow_par)
        depth = self._depth()
        for lane in range(s.ow_par):
            entries = [self._present(o, *codes[o, lane]) for o in range(s.och_par)]
            token = c.wire(
                f"{branch.port}_token", bits * s.och_par, f"{{{', '.join(reversed(entries))}}}"
            )
            reserve = c.wire(f"{branch.port}_reserve", 1, f"reserve[{lane}]")
            ends = {end: f"{branch.port}_{end}[{lane}]" for end in ("valid", "ready", "data")}
            c.instance(
                "conv_output",
                f"{branch.port}_lane",
                {"WIDTH": bits * s.och_par, "DEPTH": depth},
                {
                    **{"reserve": reserve, "room": f"{room}[{lane}]", "data": token},
                    "write": c.delayed(reserve, 1, self._time, cleared=True),
                    **{f"out_{end}": signal for end, signal in ends.items()},
                },
            )
        self._whole.latency.append(self._time + 1)
        self._whole.depths.append(depth)
        return room

    def _present(self, entry: int, code: str, codes: Range) -> str:
        """An entry of the token: ``out.bits`` bits, 0 beyond the last channel."""
        s, bits = self._sizes, self._branch.out.bits
        name = self._circuit.wire(f"{self._branch.port}_code", bits, shifted(code, codes, bits, 0))
        if (s.out_groups - 1) * s.och_par + entry < s.och:
            return name
        group = self._group(self._time)
        last = f"{group} == {address_bits(s.out_groups)}'d{s.out_groups - 1}"
        return f"({last} ? {bits}'d0 : {name})"

    def _depth(self) -> int:
        """Tokens that are on their way at full rate, and the output's own depth."""
        s = self._sizes
        cycles = self._time + 3
        whole, rest = divmod(cycles, s.words)
        return whole * s.out_groups + min(rest, s.out_groups) + self._branch.depth
