"""Simulate modules of the RTL library under random stalls and compare the tokens they hand over.

All devices of a bench are compiled into one Verilator program. Every run drives every lane of every
port with its own probability to be valid or ready; the first run never stalls.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from tests.rtl.verilator import LIBRARY, verilate

# Cycles without any token after which a run is over.
IDLE = 400


@dataclass(frozen=True)
class Stream:
    """A port: ``tokens[lane]`` is an array of codes ``[tokens, entries]``, ``bits`` one code."""

    bits: int
    tokens: Sequence[np.ndarray]

    @property
    def width(self) -> int:
        """Bits of a token."""
        return self.bits * self.tokens[0].shape[1]

    def packed(self, lane: int) -> np.ndarray:
        """Tokens of a lane as bytes ``[tokens, ceil(width / 8)]``, code 0 lowest."""
        codes = np.asarray(self.tokens[lane], dtype=np.int64)
        bits = (codes[..., None] >> np.arange(self.bits)) & 1
        return np.packbits(
            bits.reshape(len(codes), self.width).astype(np.uint8), axis=1, bitorder="little"
        )


@dataclass(frozen=True)
class Device:
    """A module with parameters (SystemVerilog text or integers), its inputs and what must come.

    Outputs named in ``shown`` have no ready: they show what passes inside.
    """

    module: str
    parameters: dict[str, int | str]
    inputs: dict[str, Stream]
    outputs: dict[str, Stream]
    shown: frozenset[str] = frozenset()

    @property
    def ports(self) -> dict[str, tuple[bool, Stream]]:
        """Name -> (is an input, its stream)."""
        made = {name: (True, stream) for name, stream in self.inputs.items()}
        return made | {name: (False, stream) for name, stream in self.outputs.items()}


@dataclass
class Run:
    """What happened in one run: bytes and cycle of every token by (device, port, lane)."""

    tokens: dict[tuple[int, str, int], np.ndarray] = field(default_factory=dict)
    cycles: dict[tuple[int, str, int], np.ndarray] = field(default_factory=dict)


class Bench:
    """Compiled devices, simulated together. ``sources`` come beside the library's own."""

    def __init__(
        self, devices: Sequence[Device], folder: Path, sources: Sequence[Path] = ()
    ) -> None:
        self.devices = list(devices)
        self.folder = folder
        self.sources = list(sources)

    @cached_property
    def program(self) -> Path:
        """The simulation program."""
        (self.folder / "bench.sv").write_text(self.wrapper())
        (self.folder / "ports.hpp").write_text(self._port_table())
        sources = [self.folder / "bench.sv", *self.sources]
        return verilate(self.folder, "bench", sources, Path(__file__).with_name("bench.cpp"))

    def _each_port(self):
        for index, device in enumerate(self.devices):
            for name, (is_input, stream) in device.ports.items():
                yield index, name, is_input, stream

    def wrapper(self) -> str:
        """A module with all devices side by side."""
        ports = ["input logic clk", "input logic rst"]
        for index, name, is_input, stream in self._each_port():
            to, back = ("input", "output") if is_input else ("output", "input")
            lanes, full = len(stream.tokens), f"d{index}_{name}"
            ports += [
                f"{to} logic [{lanes - 1}:0] {full}_valid",
                f"{to} logic [{lanes - 1}:0][{stream.width - 1}:0] {full}_data",
            ]
            if name not in self.devices[index].shown:
                ports.append(f"{back} logic [{lanes - 1}:0] {full}_ready")
        bodies = [self._instance(index, device) for index, device in enumerate(self.devices)]
        return f"module bench ({', '.join(ports)});\n{''.join(bodies)}endmodule\n"

    @staticmethod
    def _instance(index: int, device: Device) -> str:
        values = ", ".join(f".{name}({value})" for name, value in device.parameters.items())
        ends = [
            f".{name}_{end}(d{index}_{name}_{end})"
            for name in device.ports
            for end in ("valid", "ready", "data")
            if end != "ready" or name not in device.shown
        ]
        return f"  {device.module} #({values}) d{index} (.clk, .rst, {', '.join(ends)});\n"

    def _ready(self, index: int, name: str) -> str:
        return "nullptr" if name in self.devices[index].shown else f"&top.d{index}_{name}_ready"

    def _port_table(self) -> str:
        rows = [
            f'{{"d{index}_{name}", {"true" if is_input else "false"}, {len(stream.tokens)}, '
            f"{stream.width}, &top.d{index}_{name}_valid, {self._ready(index, name)}, "
            f"&top.d{index}_{name}_data}}"
            for index, name, is_input, stream in self._each_port()
        ]
        body = ",\n      ".join(rows)
        return (
            f"static std::vector<port> ports_of(Vbench& top) {{\n  return {{\n      {body}}};\n}}\n"
        )

    def run(self, stalled: int = 5, seed: int = 0, idle: int = IDLE) -> list[Run]:
        """One run without stalls and ``stalled`` runs with them."""
        for index, name, is_input, stream in self._each_port():
            for lane in range(len(stream.tokens)):
                path = self.folder / f"d{index}_{name}_{lane}.bin"
                if is_input:
                    stream.packed(lane).tofile(path)
        plans = [f"{seed}:full", *(f"{seed + n + 1}:stalled" for n in range(stalled))]
        command = [self.program, self.folder, idle, seed + 1, *plans]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, cwd=self.folder
        )
        assert done.returncode == 0, done.stderr
        return [self._read(number) for number in range(len(plans))]

    def _read(self, number: int) -> Run:
        run = Run()
        for index, name, _, stream in self._each_port():
            for lane in range(len(stream.tokens)):
                path = self.folder / f"{number}_d{index}_{name}_{lane}"
                key = (index, name, lane)
                raw = np.fromfile(path.with_suffix(".bin"), np.uint8)
                run.tokens[key] = raw.reshape(-1, -(-stream.width // 8))
                run.cycles[key] = np.fromfile(path.with_suffix(".cyc"), np.int32)
        return run

    def differences(self, run: Run) -> list[str]:
        """What a run did not hand over as expected, one line for each lane at most."""
        found = []
        for index, name, _, stream in self._each_port():
            device = self.devices[index]
            for lane in range(len(stream.tokens)):
                want, have = stream.packed(lane), run.tokens[index, name, lane]
                place = f"{device.module} {device.parameters} {name}[{lane}]"
                if len(want) != len(have):
                    found.append(f"{place}: {len(have)} tokens, expected {len(want)}")
                elif (want != have).any():
                    first = int(np.flatnonzero((want != have).any(axis=1))[0])
                    texts = [row[first][::-1].tobytes().hex() for row in (have, want)]
                    found.append(f"{place}: token {first} is {texts[0]}, expected {texts[1]}")
        return found

    def check(self, stalled: int = 5, seed: int = 0, idle: int = IDLE) -> list[Run]:
        """Run and assert that all inputs are taken and all outputs come, in every run."""
        runs = self.run(stalled, seed, idle)
        for number, run in enumerate(runs):
            found = self.differences(run)
            assert not found, f"run {number}: " + "; ".join(found)
        return runs


def picture_tokens(codes: np.ndarray, lanes: int, ch_par: int) -> list[np.ndarray]:
    """Frames ``[n, h, w, ch]`` as lanes of tokens (docs/architecture.md, physical streams)."""
    frames, h, w, ch = codes.shape
    groups = -(-ch // ch_par)
    padded = np.zeros((frames, h, w, groups * ch_par), np.int64)
    padded[..., :ch] = codes
    return [padded[:, :, lane::lanes].reshape(-1, ch_par) for lane in range(lanes)]


__all__ = ["IDLE", "LIBRARY", "Bench", "Device", "Run", "Stream", "picture_tokens"]
