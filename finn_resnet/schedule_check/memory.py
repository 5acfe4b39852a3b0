"""How often a pipelined loop accesses each memory, given how the sources divide it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from finn_resnet.schedule_check.ir import Function, Instruction, Loop
from finn_resnet.schedule_check.task_unit import EXTERNAL

PORTS = 2
"""Accesses a memory serves in a cycle."""

_PRAGMA = re.compile(
    r"#\s*pragma HLS (array_partition|array_reshape|dependence)\s+variable\s*=\s*(\w+)([^\n]*)"
)
_ADDRESS = re.compile(r"getelementptr (?:inbounds |nuw |nusw )*(\(|(?!\().*$)", re.DOTALL)
_TYPE = re.compile(r'%(?:struct|class|union)\.[\w.:]+\**|%"(?:struct|class|union)[^"]*"\**')
_DEEPEST = 8
_BASE = re.compile(r'[%@][\w.$-]+|[%@]"[^"]+"')


@dataclass
class Division:
    """What the pragmas of a variable say; dimension 0 stands for all of them."""

    apart: set[int] = field(default_factory=set)
    joined: set[int] = field(default_factory=set)
    has_dependence: bool = False


def divisions(folder: Path) -> dict[str, Division]:
    """Divisions by the variable's name; variables of one name are divided alike."""
    found: dict[str, Division] = defaultdict(Division)
    for source in [*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]:
        if "simulation" in source.relative_to(folder).parts:
            continue
        for kind, name, rest in _PRAGMA.findall(source.read_text(encoding="utf-8")):
            dimension = re.search(r"\bdim\s*=\s*(\d+)", rest)
            number = int(dimension[1]) if dimension else 1
            if kind == "dependence":
                found[name].has_dependence = True
            elif kind == "array_reshape":
                found[name].joined.add(number)
            elif "block" not in rest:
                found[name].apart.add(number)
            else:
                found[name].apart.add(-number)
    return found


@dataclass(frozen=True)
class Access:
    """One load or store: the variable, its elements' indices, and whether it writes."""

    variable: str
    indices: tuple[str, ...]
    writes: bool
    is_constant: bool


def source_name(value: str) -> str:
    """Variable of the sources that an IR value or global stands for."""
    name = value.lstrip("%@").strip('"')
    if name.startswith("_Z"):
        # A static local's mangled name ends in its own name, and a number where there are several.
        for match in re.finditer(r"E(\d+)(?=([A-Za-z]\w*)$)", name):
            length = int(match[1])
            rest = name[match.end() :]
            if len(rest) >= length and re.fullmatch(r"(_\d+)?", rest[length:]):
                return rest[:length]
        return name
    return name.partition(EXTERNAL)[0].split(".")[0]


def accesses(function: Function, loop: Loop, constants: set[str]) -> Iterator[Access]:
    """Loads and stores of arrays in a loop; streams are not among them."""
    for block in loop.blocks:
        for found in function.blocks[block].instructions:
            if found.op in ("load", "store"):
                access = _access(function, found, constants)
                if access:
                    yield access


def _access(function: Function, found: Instruction, constants: set[str]) -> Access | None:
    # `load T, T* pointer` or `store T value, T* pointer`
    base, indices = _address(function, _parts(found.text)[1])
    if base is None:
        return None
    return Access(source_name(base), tuple(indices), found.op == "store", base in constants)


def _parts(text: str) -> list[str]:
    """Text between commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _address(function: Function, text: str) -> tuple[str | None, list[str]]:
    """Base and array indices of a pointer; no base where it is no array of the task's own."""
    indices: list[str] = []
    for _ in range(_DEEPEST):
        if match := _ADDRESS.search(text):
            inner = match[1]
            if match[0].endswith("("):
                inner = text[match.end() : text.rindex(")")]
            parts = _parts(inner)
            indices = [*_array_indices(parts[2:]), *indices]
            text = parts[1]
        elif "bitcast (" in text:
            text = text.partition("bitcast (")[2].partition(" to ")[0]
        names = _BASE.findall(_TYPE.sub("", text))
        if not names or names[-1].startswith("@"):
            return (names[-1], indices) if names else (None, [])
        found = function.defined.get(names[-1])
        if found is not None and found.op == "alloca":
            return names[-1], indices
        if found is None or found.op not in ("getelementptr", "bitcast"):
            return None, []
        cast = found.op == "bitcast"
        text = f"{found.op} {found.text.split(' to ')[0] if cast else found.text}"
    return None, []


def _array_indices(given: list[str]) -> list[str]:
    """Indices of the array levels; the first index steps the pointer, i32 ones name members."""
    steps = given[:1] if given[0].split()[-1] != "0" else []
    levels = [*steps, *(index for index in given[1:] if index.startswith("i64 "))]
    return [index.split()[-1] for index in levels]


@dataclass
class Use:
    """What an iteration does to a variable: accesses to its busiest memory at most, whether an
    index that varies selects among registers, whether it is read and written.
    """

    most: int
    selects_register: bool
    carries: bool


def uses(found: Iterable[Access], divided: dict[str, Division]) -> dict[str, Use]:
    """Uses by variable."""
    memories: dict[tuple[str, ...], set[tuple[tuple[str, ...], bool]]] = defaultdict(set)
    selecting: set[str] = set()
    kinds: dict[str, set[bool]] = defaultdict(set)
    for access in found:
        division = divided.get(access.variable, Division())
        numbered = list(enumerate(access.indices, start=1))
        bank = [index for number, index in numbered if {0, number, -number} & division.apart]
        registers = [index for number, index in numbered if {0, number} & division.apart]
        varies = any(index.startswith("%") for index in registers)
        if varies and len(registers) == len(numbered) and not access.is_constant:
            selecting.add(access.variable)
        joined = division.apart | division.joined
        place = tuple(index for number, index in numbered if not {0, number, -number} & joined)
        memories[(access.variable, *bank)].add((place, access.writes))
        kinds[access.variable].add(access.writes)
    return {
        name: Use(
            max(len(places) for key, places in memories.items() if key[0] == name),
            name in selecting,
            len(kinds[name]) == 2,
        )
        for name in kinds
    }
