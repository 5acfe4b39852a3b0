"""One translation unit with a function for every task of a generated project."""

from __future__ import annotations

import json
import re
from pathlib import Path

from finn_resnet.deploy.cpp_source import functions, split_top_level, without_comments
from finn_resnet.deploy.dataflow_check import stream_declaration, task_call

PREFIX = "task_"
EXTERNAL = "__of_"
"""Stands between the name that a variable has in the sources and whose it is."""
MARKER = "fr_pipelined_iteration"
"""Function that a pipelined loop's body calls first."""

_LOOP = re.compile(r"(for \([^{}]*?\) \{\n)\s*#\s*pragma HLS (unroll|pipeline)\b[^\n]*")
_WEIGHTS = re.compile(
    r"static constexpr std::uint32_t weights((?:\[\d+\]){2}) = \{\s*"
    r'#include "weights/(\w+)\.inc"\s*\};'
)
_SOURCES = ("*.hpp", "include/**/*.hpp", "weights/*.inc")


def write_task_unit(project_dir: Path, folder: Path) -> Path:
    """Copy a project's sources to ``folder``, marked for clang, with a function for every task.

    Loops to unroll carry clang's own pragma, and the body of every pipelined loop begins with a
    call of `MARKER`. Streams and weights are external, so that nothing is known of what they
    hold: the hardware is the same for any weights, and a memory of one word would otherwise be
    taken for constants.

    Returns:
        The file that defines ``task_<name>`` for every task.
    """
    top = json.loads((project_dir / "project.json").read_text(encoding="utf-8"))["top"]
    for pattern in _SOURCES:
        for source in project_dir.glob(pattern):
            copy = folder / source.relative_to(project_dir)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_marked(source.read_text(encoding="utf-8")), encoding="utf-8")
    text = without_comments((project_dir / f"{top}.cpp").read_text(encoding="utf-8"))
    unit = folder / "tasks.cpp"
    unit.write_text(_marked(_task_functions(text, top)), encoding="utf-8")
    return unit


def _marked(text: str) -> str:
    def mark(match: re.Match[str]) -> str:
        if match[2] == "unroll":
            return f"\n#pragma clang loop unroll(full)\n{match[1]}"
        return f"\n#pragma clang loop unroll(disable)\n{match[1]}{MARKER}();"

    name = rf"weights{EXTERNAL}\2"
    external = rf"extern const std::uint32_t {name}\1; const auto& weights = {name};"
    return _WEIGHTS.sub(external, _LOOP.sub(mark, text))


def _task_functions(text: str, name: str) -> str:
    top = next(function for function in functions(text) if function.name == name)
    head = text[: text.rindex(f"void {name}(", 0, top.begin)]
    signature = text[len(head) : top.begin].partition("(")[2].rpartition(")")[0]
    lines = [f"extern {port.replace('&', ' ')};" for port in split_top_level(signature, ",")]
    body = re.sub(r"(?m)^\s*#pragma[^\n]*$", "", top.body[1:-1])
    for statement in split_top_level(body, ";", "([{"):
        if stream := stream_declaration(statement):
            lanes = f"[{stream['lanes']}]" if stream["lanes"] else ""
            lines.append(f"extern fr::stream<{stream['type']}> {stream['name']}{lanes};")
        elif task := task_call(statement):
            lines.append(f'extern "C" void {PREFIX}{task["name"]}() {{ {task["call"]}; }}')
    return head + "\n".join(lines) + "\n"
