"""How often a loop runs, from nothing but the instructions that decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from finn_resnet.schedule_check.ir import Function, Instruction, Loop

_MOST = 1 << 22

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


class _Unknown(Exception):
    """A value that more than constants and the loop's own counters decide."""


def trip_count(function: Function, loop: Loop) -> int | None:
    """Iterations of a loop with a constant count; None if the count depends on anything else.

    The loop is run: the values that decide its only exit are worked out, iteration by iteration,
    from the constants they start from.
    """
    leaving = [name for name in loop.blocks if set(function.blocks[name].successors) - loop.blocks]
    latches = [name for name in function.predecessors[loop.header] if name in loop.blocks]
    if len(leaving) != 1 or len(latches) != 1:
        return None
    if leaving[0] not in function.dominators[latches[0]]:
        return None
    branch = function.blocks[leaving[0]].instructions[-1]
    if branch.op != "br" or len(branch.targets) != 2:
        return None
    condition = branch.text.split(",")[0].split()[-1]
    stays = branch.targets[0] in loop.blocks
    try:
        return _run(_Counters(function, loop, latches[0]), condition, stays)
    except _Unknown:
        return None


def _run(counters: _Counters, condition: str, stays: bool) -> int | None:
    for count in range(1, _MOST):
        if bool(counters.value(condition)) != stays:
            return count
        counters.advance()
    return None


class _Counters:
    """Values of a loop's counters in one iteration after the other."""

    def __init__(self, function: Function, loop: Loop, latch: str) -> None:
        self._function = function
        self._loop = loop
        self._latch = latch
        self._state: dict[str, int] = {}
        self._now: dict[str, int] = {}

    def value(self, text: str) -> int:
        """Value of an operand in this iteration."""
        if not text.startswith("%"):
            return _constant(text)
        if text not in self._now:
            found = self._function.defined.get(text)
            if found is None or found.block not in self._loop.blocks:
                raise _Unknown
            self._now[text] = self._compute(found)
        return self._now[text]

    def advance(self) -> None:
        """To the next iteration: every counter met so far takes its next value."""
        following = {}
        for name in self._state:
            incoming = {block: value for value, block in self._function.defined[name].incoming}
            following[name] = self.value(incoming[self._latch])
        self._state = following
        self._now = dict(following)

    def _compute(self, found: Instruction) -> int:
        if found.op == "phi":
            return self._start(found)
        if found.op == "icmp":
            kind = found.text.split(" ", 1)[0]
            signed = kind[0] == "s"
            a, b = (self._wrapped(self.value(v), found.bits, signed) for v in found.operands)
            return int(_COMPARISONS[kind if kind in _COMPARISONS else kind[1:]](a, b))
        if found.op in _OPERATIONS:
            a, b = (self.value(v) for v in found.operands)
            return self._wrapped(_OPERATIONS[found.op](a, b), found.bits, False)
        if found.op == "select":
            chosen = found.operands[1 if self.value(found.operands[0]) else 2]
            return self.value(chosen)
        if found.op in ("zext", "trunc"):
            to = int(found.text.rsplit(" i", 1)[1])
            return self._wrapped(self.value(found.operands[0]), min(to, found.bits), False)
        raise _Unknown

    def _start(self, found: Instruction) -> int:
        """First value of a counter; the others follow in `advance`."""
        outside = [v for v, b in found.incoming if b not in self._loop.blocks]
        if found.block != self._loop.header or len(outside) != 1 or found.name in self._state:
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
