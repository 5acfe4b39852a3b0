"""Checks the top function's canonical dataflow form.

The top holds stream declarations and task calls only, and every stream has exactly one writer and
one reader. Whether a task reads or writes a stream is found from its body, through the functions it
hands the stream on to; nothing is taken from names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from finn_resnet.deploy.cpp_source import (
    Function,
    calls,
    functions,
    split_top_level,
    synthesised_files,
    without_comments,
)
from finn_resnet.generation.project_file import Project, load_project

_DECLARATION = re.compile(
    r"fr::stream<(?P<type>.+?)>\s+(?P<name>\w+)\s*(?:\[(?P<lanes>\d+)\])?\s*", re.DOTALL
)
_NAMING = re.compile(r"FR_NAMED\(\s*(?P<name>\w+),\s*\d+\)")
_TASK = re.compile(r'FR_TASK\(\s*"(?P<name>\w+)"\s*,(?P<call>.*)\)', re.DOTALL)
_STREAM_ARGUMENT = re.compile(r"(?P<name>\w+)\s*(?:\[\s*(?P<lane>\d+)\s*\])?")

READS, WRITES = "reads", "writes"


def stream_declaration(statement: str) -> re.Match[str] | None:
    """``type``, ``name`` and ``lanes`` (None for a plain stream) of a stream declaration."""
    return _DECLARATION.fullmatch(statement)


def task_call(statement: str) -> re.Match[str] | None:
    """``name`` and ``call`` of a task."""
    return _TASK.fullmatch(statement)


def check_dataflow(project_dir: str | Path) -> list[str]:
    """What is wrong with the top function of a generated project; empty if nothing is.

    Args:
        project_dir: folder with project.json.
    """
    folder = Path(project_dir)
    project = load_project(folder)
    texts = {
        path: without_comments(path.read_text(encoding="utf-8"))
        for path in synthesised_files(folder)
    }
    directions = Directions([f for text in texts.values() for f in functions(text)])
    own = functions(texts[folder / f"{project.top}.cpp"])
    top = next((function for function in own if function.name == project.top), None)
    if top is None:
        return [f"{project.top}.cpp defines no function {project.top}"]
    return _TopCheck(project, top, directions).faults()


class Directions:
    """Which parameters of which function are read and which are written as streams."""

    def __init__(self, found: Iterable[Function]) -> None:
        self._by_name: dict[str, list[Function]] = defaultdict(list)
        for function in found:
            self._by_name[function.name].append(function)
        self._known: dict[tuple[str, int, int], frozenset[str]] = {}

    def of(self, name: str, position: int, count: int) -> frozenset[str]:
        """READS and WRITES as argument ``position`` of a call of ``name`` with ``count`` ones."""
        key = (name, position, count)
        if key not in self._known:
            self._known[key] = frozenset()  # ends a recursion
            uses: set[str] = set()
            for function in self._by_name[name]:
                parameters = function.parameters
                is_pack = bool(parameters) and parameters[-1].is_pack
                if len(parameters) == count or (is_pack and len(parameters) <= count):
                    parameter = parameters[min(position, len(parameters) - 1)]
                    uses |= self._uses(function, parameter.name)
            self._known[key] = frozenset(uses)
        return self._known[key]

    def _uses(self, function: Function, name: str) -> set[str]:
        element = rf"\b{name}\s*(?:\[[^\[\]]*\]\s*)*"
        uses = set()
        if re.search(rf"{element}\.\s*read\s*\(", function.body) or re.search(
            rf"\bread_ref\s*\(\s*{element}\)", function.body
        ):
            uses.add(READS)
        if re.search(rf"{element}\.\s*write\s*\(", function.body):
            uses.add(WRITES)
        for callee, arguments in calls(function.body):
            for position, argument in enumerate(arguments):
                if callee != function.name and re.fullmatch(element, argument):
                    uses |= self.of(callee, position, len(arguments))
        return uses


@dataclass
class _Ends:
    writers: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)


class _TopCheck:
    """One pass over the statements of the top function."""

    def __init__(self, project: Project, top: Function, directions: Directions) -> None:
        self._top = top
        self._directions = directions
        self._found: list[str] = []
        self._lanes: dict[str, int | None] = {}
        self._ends: dict[tuple[str, int], _Ends] = {}
        self._tasks: set[str] = set()
        self._inputs = {port.name for port in project.inputs}
        self._inputs |= {project.parameters.name} if project.parameters else set()
        self._outputs = {port.name for port in project.outputs}

    def faults(self) -> list[str]:
        for port in self._top.parameters:
            if port.name not in self._inputs | self._outputs:
                self._found.append(f"argument '{port.name}' is no port of project.json")
            self._declare(port.name, None)
        body = re.sub(r"(?m)^\s*#pragma[^\n]*$", "", self._top.body[1:-1])
        statements = split_top_level(body, ";", "([{")
        for statement in statements:
            self._statement(statement)
        if "FR_DATAFLOW_END()" not in statements[-2:]:
            self._found.append("the last statement is not FR_DATAFLOW_END()")
        for key, ends in self._ends.items():
            self._check_ends(*key, ends)
        return self._found

    def _statement(self, statement: str) -> None:
        declared, task = stream_declaration(statement), task_call(statement)
        naming = _NAMING.fullmatch(statement)
        if declared:
            lanes = declared["lanes"]
            self._declare(declared["name"], int(lanes) if lanes else None)
        elif task:
            self._task(task["name"], task["call"].strip())
        elif naming:
            if naming["name"] not in self._lanes:
                self._found.append(f"'{naming['name']}' is named, but is no declared stream")
        elif statement not in ("", "FR_DATAFLOW_END()"):
            self._found.append(
                f"statement '{_short(statement)}' is neither a stream declaration nor a task"
            )

    def _declare(self, name: str, lanes: int | None) -> None:
        if name in self._lanes:
            self._found.append(f"stream '{name}' is declared twice")
        self._lanes[name] = lanes
        for lane in range(lanes or 1):
            self._ends[name, lane] = _Ends()

    def _task(self, name: str, call: str) -> None:
        if name in self._tasks:
            self._found.append(f"two tasks are named '{name}'")
        self._tasks.add(name)
        function, arguments = next(calls(call), ("", []))
        if not function:
            self._found.append(f"task '{name}' calls no function: '{_short(call)}'")
        for position, argument in enumerate(arguments):
            used = self._directions.of(function, position, len(arguments))
            if len(used) != 1:
                what = "both reads and writes" if used else "neither reads nor writes"
                self._found.append(f"task '{name}' {what} stream '{argument}'")
            for end in self._elements(name, argument):
                if READS in used:
                    end.readers.append(name)
                    if not end.writers and argument not in self._inputs:
                        self._found.append(
                            f"task '{name}' reads stream '{argument}' before any task writes it"
                        )
                if WRITES in used:
                    end.writers.append(name)

    def _elements(self, task: str, argument: str) -> list[_Ends]:
        match = _STREAM_ARGUMENT.fullmatch(argument)
        if match is None or match["name"] not in self._lanes:
            self._found.append(f"task '{task}' takes '{argument}', which is no declared stream")
            return []
        name, lanes = match["name"], self._lanes[match["name"]]
        if match["lane"] is None:
            return [self._ends[name, lane] for lane in range(lanes or 1)]
        if int(match["lane"]) >= (lanes or 0):
            self._found.append(f"task '{task}' takes '{argument}', which does not exist")
            return []
        return [self._ends[name, int(match["lane"])]]

    def _check_ends(self, name: str, lane: int, ends: _Ends) -> None:
        label = name if self._lanes[name] is None else f"{name}[{lane}]"
        wanted_writers = 0 if name in self._inputs else 1
        wanted_readers = 0 if name in self._outputs else 1
        for what, tasks, wanted in (
            ("writers", ends.writers, wanted_writers),
            ("readers", ends.readers, wanted_readers),
        ):
            if len(tasks) != wanted:
                listed = f": {', '.join(tasks)}" if tasks else ""
                self._found.append(f"stream '{label}' has {len(tasks)} {what}{listed}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
