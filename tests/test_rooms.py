"""Data flows one way: a room imports earlier rooms only."""

from __future__ import annotations

import ast
from pathlib import Path

import finn_resnet

PACKAGE = Path(finn_resnet.__file__).parent

# From first to last; modules of the package's root and the shared vocabulary come before all.
ROOMS = (
    "numerics",
    "custom_ops",
    "config",
    "boards",
    "importing",
    "lowering",
    "transformation",
    "parallelism",
    "generation",
    "simulation",
    "deploy",
    "verification",
    "report",
    "build",
    "calibration",
    "training",
    "evaluation",
    "commands",
)


def imports(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, module) of every import, also inside functions; not those for type checkers."""
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
    return found


def backward(source: str, room: str) -> list[str]:
    """Imports of later rooms in a module of ``room``."""
    later = ROOMS[ROOMS.index(room) + 1 :]
    return [
        f"line {line}: {module}"
        for line, module in imports(ast.parse(source))
        if module.split(".")[0] == "finn_resnet" and module.split(".")[1] in later
    ]


def test_no_room_imports_a_later_one():
    found = []
    for room in ROOMS:
        folder = PACKAGE / room if room != "custom_ops" else PACKAGE.parent / room
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else []:
            found += [f"{path.name}, {text}" for text in backward(path.read_text(), room)]
    assert found == []


def test_a_backward_import_is_noticed():
    source = "def f():\n    from finn_resnet.report import read_report\n"
    assert backward(source, "generation") == ["line 2: finn_resnet.report.read_report"]
    assert backward(source, "build") == []
