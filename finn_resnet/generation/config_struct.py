"""C++ config structs: what a task template is instantiated with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from finn_resnet.generation.cpp import braces, table_type

Member = int | bool | str | Sequence[int]


def config_struct(
    name: str, doc: Iterable[str], constants: Mapping[str, Member], types: Mapping[str, str]
) -> str:
    """A struct of type aliases and ``static constexpr`` members.

    Args:
        name: the struct's name.
        doc: lines of its comment.
        constants: integers, booleans and integer lists, or "type = value" text for other types.
        types: alias -> C++ type.
    """
    lines = [f"/// {line}" for line in doc]
    lines.append(f"struct {name} {{")
    lines += [f"  using {alias} = {cpp};" for alias, cpp in types.items()]
    lines += [f"  static constexpr {_constant(key, value)};" for key, value in constants.items()]
    return "\n".join([*lines, "};"])


def _constant(key: str, value: Member) -> str:
    if isinstance(value, bool):
        return f"bool {key} = {str(value).lower()}"
    if isinstance(value, str):
        kind, _, text = value.partition(" = ")
        return f"{kind} {key} = {text}"
    if isinstance(value, int):
        return f"int {key} = {value}"
    kind = "bool" if value and isinstance(value[0], bool) else "int"
    return f"{kind} {key}[] = {{{', '.join(str(v).lower() for v in value)}}}"


def table_member(array: np.ndarray) -> str:
    """Member text of a ``[groups, entries]`` constant table."""
    return f"{table_type(array)} = {{{braces(array)}}}"
