"""Just enough reading of C++ to check generated HLS sources: functions, parameters, calls.

It relies on the library's own style (Google format, no macros around functions) and is no parser
of C++ at large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_HEADER = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
# A constructor's initialisers may stand between the parameters and the body.
_BODY = re.compile(r"\s*(?:const\s*)?(?:noexcept\s*)?(?::[\w\s:<>,()\[\].&*]+)?\{")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_NOT_CALLS = {"if", "for", "while", "switch", "return", "sizeof", "static_assert", "decltype"}


@dataclass(frozen=True)
class Parameter:
    """A function parameter; ``is_pack`` stands for all arguments from its place on."""

    name: str
    is_pack: bool


@dataclass(frozen=True)
class Function:
    """A function definition; ``begin`` is the offset of its body in the file's text."""

    name: str
    parameters: tuple[Parameter, ...]
    body: str
    begin: int


def synthesised_files(project: Path) -> list[Path]:
    """Sources and headers of a project that the vendor synthesises (no test bench, no runtime)."""
    left_out = {"testbench.cpp", "vector_testbench.cpp", "vector_test.hpp"}
    return [
        path
        for path in sorted([*project.rglob("*.cpp"), *project.rglob("*.hpp")])
        if path.name not in left_out
        and not {"simulation", "build"} & set(path.relative_to(project).parts)
    ]


def without_comments(text: str) -> str:
    """The text with comments blanked out, every other character in its place; strings stay."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


def line_of(text: str, offset: int) -> int:
    """Line number, from 1, of an offset."""
    return text.count("\n", 0, offset) + 1


def matching(text: str, start: int) -> int:
    """Offset just past the bracket that closes the one at ``start``.

    Raises:
        ValueError: it is never closed.
    """
    opening, closing = text[start], _CLOSING[text[start]]
    depth = 0
    for offset in range(start, len(text)):
        if text[offset] == opening:
            depth += 1
        elif text[offset] == closing and not (closing == ">" and text[offset - 1] == "-"):
            depth -= 1
            if depth == 0:
                return offset + 1
    raise ValueError(f"'{opening}' in line {line_of(text, start)} is never closed")


def split_top_level(text: str, separator: str, brackets: str = "([{<") -> list[str]:
    """Parts of ``text`` between separators outside all brackets, stripped."""
    parts, depth, begin = [], 0, 0
    closers = {_CLOSING[bracket] for bracket in brackets}
    for offset, character in enumerate(text):
        if character in brackets:
            depth += 1
        elif character in closers and depth > 0:
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[begin:offset].strip())
            begin = offset + 1
    return [*parts, text[begin:].strip()]


def functions(text: str) -> Iterator[Function]:
    """Function definitions of a comment-free text, methods included."""
    offset = 0
    while match := _HEADER.search(text, offset):
        offset = match.end()
        if match.group(1) in _NOT_CALLS:
            continue
        try:
            end = matching(text, match.end() - 1)
        except ValueError:
            continue
        body = _BODY.match(text, end)
        if body is None:
            continue
        begin = body.end() - 1
        offset = matching(text, begin)
        parameters = text[match.end() : end - 1]
        yield Function(match.group(1), _parameters(parameters), text[begin:offset], begin)


def _parameters(text: str) -> tuple[Parameter, ...]:
    found = []
    for part in split_top_level(text, ","):
        declared = part.partition("=")[0].strip()
        array = re.search(r"\(\s*&\s*(\w+)\s*\)", declared)
        plain = re.search(r"(\w+)\s*$", declared)
        if array or plain:
            found.append(Parameter((array or plain).group(1), "..." in declared))
    return tuple(found)


def calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Calls in a text: name without namespace, argument texts."""
    for match in re.finditer(r"\b([A-Za-z_]\w*)\s*(?=[<(])", text):
        name, at = match.group(1), match.end()
        if name in _NOT_CALLS:
            continue
        try:
            if text[at] == "<":
                at = matching(text, at)
            if text[at : at + 1] != "(":
                continue
            arguments = text[at + 1 : matching(text, at) - 1]
        except ValueError:
            continue
        yield name, [] if not arguments.strip() else split_top_level(arguments, ",")
