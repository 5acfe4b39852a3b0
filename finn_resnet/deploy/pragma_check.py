"""Checks the HLS pragmas of a generated project: spelling, values, placement, variables.

Vitis HLS ignores a pragma it does not understand with no more than a warning, so a misspelt one
costs performance without failing anything. Directives and options are those of the Vitis HLS user
guide (UG1399) that the library uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from finn_resnet.deploy.cpp_source import (
    Function,
    functions,
    line_of,
    synthesised_files,
    without_comments,
)

# A backslash continues a pragma on the next line.
_PRAGMA = re.compile(r"(?m)^[ \t]*#pragma[ \t]+(\w+)[ \t]*([^\n\\]*(?:\\\n[^\n\\]*)*)$")
_ITEM = re.compile(r"([\w.:]+)(?:\s*=\s*([\w.:*+-]+))?")
_LOOP = re.compile(r"\b(?:for|while)\s*\($")

_ARRAY_TYPES = {"complete", "block", "cyclic"}
_MEMORY_TYPES = {"fifo", "ram_1p", "ram_2p", "ram_s2p", "ram_t2p", "rom_1p", "rom_2p", "rom_np"}
_MEMORIES = {"bram", "lutram", "uram", "srl", "memory"}


@dataclass(frozen=True)
class _Directive:
    """Options with their legal values (None: any number or name), flags, and where it may stand.

    ``place``: "top" (top function, before its statements), "loop" (start of a loop body),
    "function" (start of a function body) or "variable" (after the declaration it names).
    """

    place: str
    options: dict[str, set[str] | None] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()


_DIRECTIVES = {
    "interface": _Directive(
        "top",
        {"port": None, "mode": {"axis", "ap_ctrl_none"}},
        frozenset({"axis", "ap_ctrl_none"}),
        frozenset({"port"}),
    ),
    "dataflow": _Directive("top", flags=frozenset({"disable_start_propagation"})),
    "stream": _Directive(
        "variable",
        {"variable": None, "depth": None, "type": {"fifo", "pipo", "shared", "unsync"}},
        required=frozenset({"variable", "depth"}),
    ),
    "pipeline": _Directive(
        "loop",
        {"II": None, "style": {"stp", "flp", "frp"}},
        frozenset({"off", "rewind"}),
    ),
    "unroll": _Directive("loop", {"factor": None}, frozenset({"skip_exit_check"})),
    "loop_tripcount": _Directive("loop", {"min": None, "max": None, "avg": None}),
    "loop_flatten": _Directive("loop", flags=frozenset({"off"})),
    "expression_balance": _Directive("function", flags=frozenset({"off"})),
    "inline": _Directive("function", flags=frozenset({"off", "recursive"})),
    "array_partition": _Directive(
        "variable",
        {"variable": None, "type": _ARRAY_TYPES, "factor": None, "dim": None},
        frozenset(_ARRAY_TYPES),
        frozenset({"variable"}),
    ),
    "array_reshape": _Directive(
        "variable",
        {"variable": None, "type": _ARRAY_TYPES, "factor": None, "dim": None},
        frozenset(_ARRAY_TYPES),
        frozenset({"variable"}),
    ),
    "bind_storage": _Directive(
        "variable",
        {"variable": None, "type": _MEMORY_TYPES, "impl": _MEMORIES, "latency": None},
        required=frozenset({"variable", "type"}),
    ),
    "dependence": _Directive(
        "variable",
        {
            "variable": None,
            "type": {"inter", "intra"},
            "direction": {"RAW", "WAR", "WAW"},
            "distance": None,
            "dependent": {"true", "false"},
        },
        frozenset({"inter", "intra", "RAW", "WAR", "WAW", "true", "false"}),
        frozenset({"variable"}),
    ),
    "bind_op": _Directive(
        "variable",
        {
            "variable": None,
            "op": {"mul", "add", "sub"},
            "impl": {"dsp", "fabric"},
            "latency": None,
        },
        required=frozenset({"variable", "op"}),
    ),
}


def check_pragmas(project_dir: str | Path) -> list[str]:
    """What is wrong with the pragmas of a generated project, one line each; empty if nothing is."""
    folder = Path(project_dir)
    return [
        f"{path.relative_to(folder)}:{line}: {fault}"
        for path in synthesised_files(folder)
        for line, fault in _file_faults(without_comments(path.read_text(encoding="utf-8")))
    ]


def _file_faults(text: str) -> Iterator[tuple[int, str]]:
    known = list(functions(text))
    for match in _PRAGMA.finditer(text):
        family, rest = match[1], " ".join(match[2].replace("\\\n", " ").split())
        if family == "once":
            continue
        owner = next((f for f in known if f.begin < match.start() < f.begin + len(f.body)), None)
        if family != "HLS":
            faults = [f"'#pragma {family}' is no HLS pragma"]
        elif owner is None:
            faults = [f"'#pragma HLS {rest}' stands outside every function"]
        else:
            faults = list(_faults(rest, owner, match.start() - owner.begin, text))
        yield from ((line_of(text, match.start()), fault) for fault in faults)


def _faults(rest: str, owner: Function, offset: int, text: str) -> Iterator[str]:
    name, _, arguments = rest.partition(" ")
    directive = _DIRECTIVES.get(name)
    if directive is None:
        yield f"directive '{name}' is unknown"
        return
    items = _ITEM.findall(arguments)
    if _ITEM.sub("", arguments).strip():
        yield f"'{name}' has arguments that cannot be read: '{arguments}'"
    yield from _option_faults(name, directive, items)
    given = dict(items)
    before = owner.body[:offset]
    if directive.place == "variable":
        yield from _variable_faults(name, given.get("variable", ""), owner, before, text)
    elif directive.place == "top" and "port" in given:
        ports = {"return", *(parameter.name for parameter in owner.parameters)}
        if given["port"] not in ports:
            yield f"'{name}' names port '{given['port']}', which the function does not have"
    if not _is_placed(directive.place, before):
        yield f"'{name}' is not at the start of its {_PLACES[directive.place]}"


def _option_faults(name: str, directive: _Directive, items: list[tuple[str, str]]) -> Iterator[str]:
    for key, value in items:
        if not value:
            if key not in directive.flags:
                yield f"'{name}' has no option '{key}'"
        elif key not in directive.options:
            yield f"'{name}' has no option '{key}'"
        elif directive.options[key] is not None and value not in directive.options[key]:
            legal = ", ".join(sorted(directive.options[key]))
            yield f"'{name}' option {key} = {value} is none of {legal}"
    for key in sorted(directive.required - {key for key, _ in items}):
        yield f"'{name}' lacks its option '{key}'"


def _variable_faults(
    name: str, variable: str, owner: Function, before: str, text: str
) -> Iterator[str]:
    base = variable.partition(".")[0]
    # Members, named with a trailing underscore, may be declared below the method.
    where = text if base.endswith("_") else before
    # A type, a name and what may follow a declared name.
    declared = re.search(rf"[\w>&*]\s+{re.escape(base)}\s*(?:\[|=|;|\{{)", where)
    if base and not declared and base not in {p.name for p in owner.parameters}:
        yield f"'{name}' names variable '{variable}', which is not declared before it"
    if base and name == "stream" and not re.search(rf"stream<[^;]*>\s+{re.escape(base)}\b", before):
        yield f"'stream' names variable '{variable}', which is no stream"


_PLACES = {"loop": "loop body", "function": "function body", "top": "function body"}


def _is_placed(place: str, before: str) -> bool:
    """Whether only other pragmas lie between the pragma and the brace it must follow."""
    if place == "variable":
        return True
    text = _PRAGMA.sub("", before).rstrip()
    if not text.endswith("{"):
        return False
    if place in ("function", "top"):
        return text == "{"
    header = text[:-1].rstrip()
    if not header.endswith(")"):
        return False
    return _LOOP.search(header[: _opening(header)]) is not None


def _opening(text: str) -> int:
    """Offset just past the parenthesis that opens the last one of ``text``."""
    depth = 0
    for offset in range(len(text) - 1, -1, -1):
        depth += (text[offset] == ")") - (text[offset] == "(")
        if depth == 0:
            return offset + 1
    return 0
