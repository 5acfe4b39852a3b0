"""Which function generates the C++ of an operator, and the headers that code needs.

An operator of a user's own joins by the same decorator, from any module::

    @generates("StreamNeg", header=Path(__file__).with_name("neg.hpp"))
    def neg_code(node: NodeContext) -> NodeCode: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from finn_resnet.errors import UserError
from finn_resnet.generation.task_code import NodeCode, NodeContext

Generate = Callable[[NodeContext], NodeCode]


@dataclass(frozen=True)
class Generator:
    """The code of one operator: the function that makes it and the headers it includes."""

    generate: Generate
    headers: tuple[Path, ...]


GENERATORS: dict[str, Generator] = {}
"""By op type."""


def generates(op_type: str, *, header: str | Path | Iterable[str | Path]) -> Callable:
    """Register the decorated function as the generator of ``op_type``.

    Args:
        op_type: name of the custom op.
        header: the C++ header(s) of its tasks: names in our library, or files of your own, which
            are copied beside it.
    """
    given = (header,) if isinstance(header, str | Path) else tuple(header)
    headers = tuple(h if isinstance(h, Path) else library_folder() / h for h in given)

    def register(function: Generate) -> Generate:
        GENERATORS[op_type] = Generator(function, headers)
        return function

    return register


def generator_of(op_type: str) -> Generator:
    """The generator of an operator.

    Raises:
        UserError: none is registered.
    """
    if op_type not in GENERATORS:
        raise UserError(
            f"operator {op_type} has no C++ generator; import the module that registers one "
            f'(`@generates("{op_type}", header=...)`)'
        )
    return GENERATORS[op_type]


def headers_of(op_types: Iterable[str]) -> list[Path]:
    """Every header the tasks of these operators need, sorted by name."""
    found = {header for op_type in op_types for header in generator_of(op_type).headers}
    return sorted(found, key=lambda header: header.name)


def library_folder() -> Path:
    """Folder of the C++ library and its templates."""
    return Path(str(files("finn_resnet.hls")))
