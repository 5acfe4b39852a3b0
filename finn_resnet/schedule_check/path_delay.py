"""How long a loop's recurrences are: logic from one iteration's registers to the next's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from finn_resnet.schedule_check.ir import VALUE, Function, Instruction, Loop
from finn_resnet.schedule_check.trip_count import trip_count

# Nanoseconds of a level of logic in UltraScale+, unplaced: a LUT of 0.15 and a net of 0.3; a carry
# chain adds 0.1 and 0.018 a bit (RapidWright's timing/ultrascaleplus).
_LUT, _NET, _CARRY, _CARRY_BIT = 0.15, 0.3, 0.1, 0.018
_DSP = 2.5
_WIRES = {"zext", "sext", "trunc", "freeze", "bitcast"}
_CHAINS = {"add", "sub", "icmp"}
_ASSOCIATIVE = {"add", "or", "and", "xor"}
_LONG = {"mul": 1, "udiv": 4, "sdiv": 4, "urem": 4, "srem": 4}

USABLE_PERIOD = 0.73
"""Share of the clock period Vitis HLS plans with: its default uncertainty is 27 %."""


@dataclass(frozen=True)
class Path:
    """A combinational path: levels of logic and nanoseconds."""

    levels: int = 0
    ns: float = 0.0

    def then(self, levels: int, ns: float) -> Path:
        """The path with more logic behind it."""
        return Path(self.levels + levels, self.ns + ns)


class Recurrences:
    """The scalar recurrences of one loop.

    Values that a loop's header takes from its own last iteration begin and end the paths; where
    paths of control join, the choice is a multiplexer that the conditions before it decide.
    """

    def __init__(self, function: Function, loop: Loop) -> None:
        self._function = function
        self._loop = loop
        self._known: dict[str, Path | None] = {}
        header = function.blocks[loop.header]
        self._registers = {i.name: i for i in header.instructions if i.op == "phi"}

    def longest(self) -> Path:
        """The longest path from one register to itself or another that it depends on in turn."""
        paths = self._paths()
        cyclic = [path for (start, end), path in paths.items() if self._reaches(paths, end, start)]
        return max(cyclic, key=lambda path: path.ns, default=Path())

    @staticmethod
    def _reaches(paths: dict[tuple[str, str], Path], start: str, end: str) -> bool:
        seen, waiting = set(), [start]
        while waiting:
            name = waiting.pop()
            if name == end:
                return True
            if name not in seen:
                seen.add(name)
                waiting += [b for a, b in paths if a == name]
        return False

    def _paths(self) -> dict[tuple[str, str], Path]:
        found: dict[tuple[str, str], Path] = {}
        for start in self._registers:
            self._known = {start: Path()}
            for end, phi in self._registers.items():
                for value, block in phi.incoming:
                    if block in self._loop.blocks and (path := self._to(value)):
                        old = found.get((start, end), Path())
                        found[start, end] = max(old, path, key=lambda p: p.ns)
        return found

    def _to(self, name: str) -> Path | None:
        """Longest path from the start register to a value, None if there is none."""
        if name in self._known:
            return self._known[name]
        self._known[name] = None
        found = self._function.defined.get(name)
        if found is None or found.block not in self._loop.blocks or name in self._registers:
            return None
        before = [(path, value) for value in self._sources(found) if (path := self._to(value))]
        if before:
            longest, value = max(before, key=lambda pair: pair[0].ns)
            # clang puts the terms of an associative chain in an order of its own; the tool balances
            # it, or keeps the sources' order, in which a register comes last.
            joined = found.op in _ASSOCIATIVE and found.op == self._function.defined[value].op
            self._known[name] = longest if joined else longest.then(*self._delay(found))
        return self._known[name]

    def _sources(self, found: Instruction) -> Iterator[str]:
        if found.op == "phi":
            yield from (value for value, _ in found.incoming)
            yield from self._conditions[found.block]
        elif found.op not in ("load", "call"):
            yield from VALUE.findall(found.text)

    def _delay(self, found: Instruction) -> tuple[int, float]:
        if found.op in _CHAINS and self.width(found.operands[0]) > 1:
            bits = max(self.width(value) for value in found.operands)
            return 1, _LUT + _NET + _CARRY + _CARRY_BIT * bits
        if found.op in _LONG:
            return 4 * _LONG[found.op], _DSP * _LONG[found.op]
        if found.op in _WIRES or (found.op in ("shl", "lshr", "ashr") and _is_constant(found)):
            return 0, 0.0
        return 1, _LUT + _NET

    @cached_property
    def _conditions(self) -> dict[str, list[str]]:
        """Conditions that decide from where a block is entered."""
        return {name: list(self._deciding(name)) for name in self._loop.blocks}

    def _deciding(self, block: str) -> Iterator[str]:
        dominators = self._function.dominators
        own = dominators[block] & self._loop.blocks - {block}
        nearest = max(own, key=lambda name: len(dominators[name]), default=block)
        seen: set[str] = set()
        waiting = list(self._function.predecessors[block])
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self._loop.blocks:
                continue
            seen.add(name)
            last = self._function.blocks[name].instructions[-1]
            if len(last.targets) > 1:
                yield from VALUE.findall(last.text)[:1]
            if name != nearest:
                waiting += self._function.predecessors[name]

    def width(self, text: str, depth: int = 8) -> int:
        """Bits a value needs, from its counters' bounds and extensions; in bits."""
        if not text.startswith("%"):
            return int(text).bit_length() if text.lstrip("-").isdigit() else 1
        found = self._function.defined.get(text)
        if found is None or depth == 0:
            return 64
        if found.op in ("zext", "sext"):
            return min(found.bits, self.width(found.operands[0], depth - 1))
        if found.op == "icmp":
            return 1
        if found.op == "phi":
            return min(found.bits, self._counter_bits.get(text, found.bits))
        if found.op in ("add", "sub"):
            widest = max(self.width(value, depth - 1) for value in found.operands)
            return min(found.bits, widest + 1)
        if found.op == "trunc":
            return int(found.text.rsplit(" i", 1)[1])
        return found.bits

    @cached_property
    def _counter_bits(self) -> dict[str, int]:
        """Width of the counters of this loop and those around it."""
        bits = {}
        for loop in self._function.loops:
            if self._loop.blocks <= loop.blocks:
                count = trip_count(self._function, loop)
                for i in self._function.blocks[loop.header].instructions:
                    if count and i.op == "phi" and self._counts(i):
                        bits[i.name] = max(count - 1, 1).bit_length() + 1
        return bits

    def _counts(self, phi: Instruction) -> bool:
        """Whether a register goes up by one an iteration."""
        steps = [self._function.defined.get(value) for value, _ in phi.incoming]
        return any(
            step is not None and step.op == "add" and step.operands == [phi.name, "1"]
            for step in steps
        )


def _is_constant(shift: Instruction) -> bool:
    return not shift.operands[1].startswith("%")
