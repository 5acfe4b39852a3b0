"""Just enough reading of LLVM's textual IR: functions, blocks, instructions, loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

_FUNCTION = re.compile(r'(?ms)^define [^\n]*@"?([\w.$]+)"?\(.*?^\}')
_LABEL = re.compile(r'^("[^"]+"|[\w.$-]+):')
_NAMED = re.compile(r'^\s+(?:(%"[^"]+"|%[\w.$-]+) = )?(?:(?:tail|notail|musttail) )?(\w+) ?(.*)$')
VALUE = re.compile(r'%"[^"]+"|%[\w.$-]+')
_TARGET = re.compile(r'label (%"[^"]+"|%[\w.$-]+)')
_INCOMING = re.compile(r'\[ ([^,\]]+), (%"[^"]+"|%[\w.$-]+) \]')
_METADATA = re.compile(r", ![\w.]+ !.*$")


@dataclass(frozen=True)
class Instruction:
    """``name = op text``; ``name`` is empty where there is no result."""

    name: str
    op: str
    text: str
    block: str

    @cached_property
    def bits(self) -> int:
        """Width of the first integer type named: the result's for most operations, in bits."""
        match = re.search(r"\bi(\d+)\b", self.text)
        return int(match[1]) if match else 0

    @cached_property
    def incoming(self) -> list[tuple[str, str]]:
        """Of a phi: value and block it comes from."""
        return _INCOMING.findall(self.text)

    @cached_property
    def targets(self) -> list[str]:
        """Of a branch or switch: the blocks it may go to."""
        return _TARGET.findall(self.text)

    @cached_property
    def operands(self) -> list[str]:
        """Texts of the operands of an arithmetic instruction, comparison, select or cast."""
        text = re.sub(r"^((nuw|nsw|exact|disjoint|nneg) )*", "", self.text).split(" to ")[0]
        if self.op == "icmp":
            text = text.split(" ", 1)[1]
        return [part.strip().rsplit(" ", 1)[-1] for part in text.split(",")]


@dataclass
class Block:
    """A basic block; the last instruction ends it."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def successors(self) -> list[str]:
        """Blocks that may follow."""
        return self.instructions[-1].targets if self.instructions else []


@dataclass(frozen=True)
class Loop:
    """A natural loop: all its blocks, those of loops inside included."""

    header: str
    blocks: frozenset[str]


class Function:
    """A function's blocks in file order, the first one the entry."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.blocks: dict[str, Block] = {}
        block = Block("%entry")
        for line in _joined(text.split("\n")[1:-1]):
            label = _LABEL.match(line)
            if label:
                block = Block(f"%{label[1]}")
                self.blocks[block.name] = block
            elif match := _NAMED.match(_METADATA.sub("", line)):
                self.blocks.setdefault(block.name, block)
                block.instructions.append(
                    Instruction(match[1] or "", match[2], match[3], block.name)
                )
        self.defined = {i.name: i for i in self.instructions() if i.name}

    def instructions(self) -> Iterator[Instruction]:
        """All of them, in file order."""
        for block in self.blocks.values():
            yield from block.instructions

    @cached_property
    def predecessors(self) -> dict[str, list[str]]:
        """Blocks that may come before."""
        found: dict[str, list[str]] = {name: [] for name in self.blocks}
        for name, block in self.blocks.items():
            for successor in block.successors:
                found[successor].append(name)
        return found

    @cached_property
    def dominators(self) -> dict[str, frozenset[str]]:
        """Blocks that every path to a block passes, itself included."""
        names = list(self.blocks)
        found = {name: frozenset(names) for name in names}
        found[names[0]] = frozenset(names[:1])
        changed = True
        while changed:
            changed = False
            for name in names[1:]:
                before = [found[p] for p in self.predecessors[name]]
                new = frozenset.intersection(*before) | {name} if before else frozenset({name})
                changed |= new != found[name]
                found[name] = new
        return found

    @cached_property
    def loops(self) -> list[Loop]:
        """Natural loops, one for each header, outer ones first."""
        members: dict[str, set[str]] = {}
        for name, block in self.blocks.items():
            for header in block.successors:
                if header in self.dominators[name]:
                    members.setdefault(header, {header}).update(self._reaching(name, header))
        found = [Loop(header, frozenset(blocks)) for header, blocks in members.items()]
        return sorted(found, key=lambda loop: -len(loop.blocks))

    def _reaching(self, latch: str, header: str) -> set[str]:
        """Blocks from which ``latch`` is reached without passing ``header``."""
        found, waiting = set(), [latch]
        while waiting:
            name = waiting.pop()
            if name not in found and name != header:
                found.add(name)
                waiting += self.predecessors[name]
        return found


def _joined(lines: list[str]) -> Iterator[str]:
    """Lines, with a switch on one."""
    whole = ""
    for line in lines:
        whole = f"{whole} {line.strip()}" if whole else line
        if not whole.lstrip().startswith("switch ") or whole.rstrip().endswith("]"):
            yield whole
            whole = ""


def functions(text: str, prefix: str) -> Iterator[Function]:
    """Functions of an IR file whose name begins with ``prefix``, which is cut off."""
    for match in _FUNCTION.finditer(text):
        if match[1].startswith(prefix):
            yield Function(match[1].removeprefix(prefix), match[0])
