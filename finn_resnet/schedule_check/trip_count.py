"""How often a loop runs, from nothing but the instructions that decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from finn_resnet.schedule_check.ir import Function, Instruction, Loop

_MOST = 1 << 18

_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
}
# What one operand of a single bit decides alone.
_DECIDING = {"and": 0, "or": 1}


class _Unknown(Exception):
    """A value that more than constants and the loop's own counters decide."""


def trip_count(function: Function, loop: Loop) -> int | None:
    """Iterations of a loop with a constant count; None if the count depends on anything else.

    The loop is run: the branches that its own counters decide are followed, the others both ways,
    until an iteration can only leave.
    """
    counters = _Counters(function, loop)
    try:
        for count in range(1, _MOST):
            latches, leaves = _outcomes(counters)
            if latches and leaves:
                return None
            if leaves:
                return count
            counters.advance(latches)
    except _Unknown:
        pass
    return None


def _outcomes(counters: _Counters) -> tuple[set[str], bool]:
    """Blocks from which an iteration may go on to another, and whether it may leave the loop."""
    function, loop = counters.function, counters.loop
    latches, leaves = set(), False
    seen, waiting = set(), [loop.header]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for successor in counters.ways(function.blocks[name].instructions[-1]):
            if successor == loop.header:
                latches.add(name)
            leaves |= successor not in loop.blocks
            if successor in loop.blocks and successor not in seen:
                waiting.append(successor)
    return latches, leaves


class _Counters:
    """Values of a loop's counters in one iteration after the other."""

    def __init__(self, function: Function, loop: Loop) -> None:
        self.function = function
        self.loop = loop
        self._state: dict[str, int | None] = {}
        self._now: dict[str, int | None] = {}

    def ways(self, branch: Instruction) -> list[str]:
        """Blocks a branch may go to in this iteration."""
        if branch.op != "br" or len(branch.targets) != 2:
            return branch.targets
        try:
            condition = self.value(branch.text.split(",")[0].split()[-1])
        except _Unknown:
            return branch.targets
        return [branch.targets[0 if condition else 1]]

    def value(self, text: str) -> int:
        """Value of an operand in this iteration."""
        if not text.startswith("%"):
            return _constant(text)
        if text not in self._now:
            found = self.function.defined.get(text)
            if found is None or found.block not in self.loop.blocks:
                raise _Unknown
            self._now[text] = self._compute(found)
        known = self._now[text]
        if known is None:
            raise _Unknown
        return known

    def advance(self, latches: set[str]) -> None:
        """To the next iteration: every counter met so far takes its next value."""
        following = {}
        for name in self._state:
            incoming = {block: value for value, block in self.function.defined[name].incoming}
            values = {self._known(incoming[latch]) for latch in latches}
            following[name] = values.pop() if len(values) == 1 else None
        self._state = following
        self._now = dict(following)

    def _known(self, text: str) -> int | None:
        try:
            return self.value(text)
        except _Unknown:
            return None

    def _compute(self, found: Instruction) -> int:
        if found.op == "phi":
            return self._start(found)
        if found.op == "freeze":
            return self.value(found.operands[0])
        if found.op == "icmp":
            kind = found.text.split(" ", 1)[0]
            signed = kind[0] == "s"
            a, b = (self._wrapped(self.value(v), found.bits, signed) for v in found.operands)
            return int(_COMPARISONS[kind if kind in _COMPARISONS else kind[1:]](a, b))
        if found.op in _DECIDING:
            known = [self._known(v) for v in found.operands]
            if _DECIDING[found.op] in known and found.bits == 1:
                return _DECIDING[found.op]
        if found.op in _OPERATIONS:
            a, b = (self.value(v) for v in found.operands)
            return self._wrapped(_OPERATIONS[found.op](a, b), found.bits, False)
        if found.op == "select":
            condition, *choice = map(self._known, found.operands)
            if condition is None and choice[0] is not None and choice[0] == choice[1]:
                return choice[0]
            if condition is None:
                raise _Unknown
            return self.value(found.operands[1 if condition else 2])
        if found.op in ("zext", "trunc"):
            to = int(found.text.rsplit(" i", 1)[1])
            return self._wrapped(self.value(found.operands[0]), min(to, found.bits), False)
        raise _Unknown

    def _start(self, found: Instruction) -> int:
        """First value of a counter; the others follow in `advance`."""
        outside = [v for v, b in found.incoming if b not in self.loop.blocks]
        if found.block != self.loop.header or len(outside) != 1 or found.name in self._state:
            raise _Unknown
        if outside[0].startswith("%"):
            raise _Unknown
        self._state[found.name] = self._wrapped(self.value(outside[0]), found.bits, False)
        return self._state[found.name]

    @staticmethod
    def _wrapped(value: int, bits: int, signed: bool) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if signed and value >> (bits - 1) else value


def _constant(text: str) -> int:
    if text in ("true", "false"):
        return int(text == "true")
    if not text.lstrip("-").isdigit():
        raise _Unknown
    return int(text)
