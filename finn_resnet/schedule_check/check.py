"""What every pipelined loop of a generated project needs to start an iteration every cycle."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from finn_resnet.deploy.cpp_source import calls, functions, synthesised_files, without_comments
from finn_resnet.schedule_check.clang import compile_to_ir
from finn_resnet.schedule_check.ir import Function, Loop
from finn_resnet.schedule_check.ir import functions as ir_functions
from finn_resnet.schedule_check.memory import (
    PORTS,
    Division,
    accesses,
    divisions,
    source_name,
    uses,
)
from finn_resnet.schedule_check.multipliers import NARROW_BITS, WIDE_BITS, multipliers
from finn_resnet.schedule_check.path_delay import USABLE_PERIOD, Recurrences
from finn_resnet.schedule_check.path_delay import Path as DelayPath
from finn_resnet.schedule_check.task_unit import MARKER, PREFIX, write_task_unit
from finn_resnet.schedule_check.trip_count import trip_count

_DIVISIONS = {"udiv", "sdiv", "urem", "srem"}
# Streams are no memories: an array of them is always divided.
_LOCAL_ARRAY = re.compile(
    r"(?m)^ +(?! |static |fr::stream<|return |typedef |using )[\w:<>, ]+? (\w+)"
    r"(?:\[[^\]\n]+\])+(?: = \{\})?;"
)
_GUARD = re.compile(r"(?m)^@(_ZGV\w+) = ")
_CONSTANT = re.compile(r'(?m)^(@[\w.$]+|@"[^"]+") = [^\n=]*\bconstant\b')


@dataclass
class TaskSchedule:
    """What the IR shows of a task: ``loops`` are the iterations of its pipelined loops.

    ``multipliers`` are products of two variables, ``widest`` their widest operands in bits,
    ``most_accesses`` those an iteration makes to the busiest memory, ``recurrence`` the longest
    path from registers to registers of the next iteration; ``faults`` what forbids II = 1.
    """

    name: str
    loops: list[int] = field(default_factory=list)
    multipliers: int = 0
    widest: tuple[int, int] = (0, 0)
    most_accesses: int = 0
    recurrence: DelayPath = field(default_factory=DelayPath)
    faults: list[str] = field(default_factory=list)


def check_schedule(
    project_dir: str | Path, clock_mhz: float, expected: dict[str, int] | None = None
) -> list[TaskSchedule]:
    """Check every task of a generated project.

    Args:
        project_dir: folder with project.json.
        clock_mhz: clock in MHz that recurrences must fit.
        expected: multipliers by task; tasks that are not named have none.

    Raises:
        UserError: there is no clang to compile with.
        ValueError: clang refuses the sources.
    """
    folder = Path(project_dir)
    with tempfile.TemporaryDirectory() as scratch:
        text = compile_to_ir(write_task_unit(folder, Path(scratch)))
    constants = set(_CONSTANT.findall(text))
    check = _Check(divisions(folder), constants, 1000 / clock_mhz * USABLE_PERIOD)
    found = [check.task(function) for function in ir_functions(text, PREFIX)]
    for task in found:
        task.faults += _multiplier_faults(task, expected)
    return [*found, *_source_findings(folder, text, found)]


class _Check:
    def __init__(self, divided: dict[str, Division], constants: set[str], usable_ns: float) -> None:
        self._divided = divided
        self._constants = constants
        self._usable_ns = usable_ns

    def task(self, function: Function) -> TaskSchedule:
        task = TaskSchedule(function.name)
        pipelined = [loop for loop in function.loops if _is_marked(function, loop)]
        for loop in function.loops:
            self._loop(function, loop, pipelined, task)
        for loop in pipelined:
            if not any(inner.blocks < loop.blocks for inner in pipelined):
                self._iteration(function, loop, task)
        return task

    def _loop(
        self, function: Function, loop: Loop, pipelined: list[Loop], task: TaskSchedule
    ) -> None:
        count = trip_count(function, loop)
        innermost = not any(other.blocks < loop.blocks for other in pipelined)
        if loop not in pipelined:
            inside = any(loop.blocks < other.blocks for other in pipelined)
            what = "is not unrolled" if inside else "is not pipelined"
            task.faults.append(f"a loop of {count or 'an unknown number of'} iterations {what}")
        elif count is None:
            task.faults.append("a loop's trip count is not constant")
        elif innermost:
            task.loops.append(count)

    def _iteration(self, function: Function, loop: Loop, task: TaskSchedule) -> None:
        found = multipliers(function, loop)
        task.multipliers += len(found)
        task.widest = max([task.widest, *found])
        for block in loop.blocks:
            for i in function.blocks[block].instructions:
                if i.op in _DIVISIONS:
                    task.faults.append(f"a division ({i.op} of {i.bits} bits)")
        self._memories(function, loop, task)
        path = Recurrences(function, loop).longest()
        task.recurrence = max(task.recurrence, path, key=lambda p: p.ns)
        if path.ns > self._usable_ns:
            task.faults.append(
                f"a recurrence of {path.levels} levels takes {path.ns:.1f} ns, more than the "
                f"{self._usable_ns:.1f} ns of the clock that can be used"
            )

    def _memories(self, function: Function, loop: Loop, task: TaskSchedule) -> None:
        for name, use in uses(accesses(function, loop, self._constants), self._divided).items():
            task.most_accesses = max(task.most_accesses, use.most)
            if use.selects_register:
                task.faults.append(f"an index that varies selects a register of '{name}'")
            elif use.most > PORTS:
                task.faults.append(f"{use.most} accesses to '{name}' an iteration")
            if use.carries and not self._divided.get(name, Division()).has_dependence:
                task.faults.append(f"'{name}' is read and written, and no dependence says how far")


def _is_marked(function: Function, loop: Loop) -> bool:
    return any(
        i.op == "call" and f"@{MARKER}(" in i.text
        for block in loop.blocks
        for i in function.blocks[block].instructions
    )


def _multiplier_faults(task: TaskSchedule, expected: dict[str, int] | None) -> Iterator[str]:
    if expected is not None and task.multipliers != expected.get(task.name, 0):
        wanted = expected.get(task.name, 0)
        yield f"{task.multipliers} multipliers, the cost model counts {wanted}"
    wide, narrow = task.widest
    if wide > WIDE_BITS or narrow > NARROW_BITS:
        yield f"a product of {wide} by {narrow} bits does not fit a DSP"


def _source_findings(folder: Path, text: str, found: list[TaskSchedule]) -> list[TaskSchedule]:
    """Faults outside the loops: initialisation at run time, and chains that become trees."""
    everywhere = TaskSchedule("(all)")
    for name in sorted(set(map(source_name, _GUARD.findall(text)))):
        everywhere.faults.append(f"'{name}' is initialised at run time")
    sources = {
        path: without_comments(path.read_text(encoding="utf-8"))
        for path in synthesised_files(folder)
    }
    for path, source in sources.items():
        if re.search(r"#\s*pragma HLS bind_op[^\n]*impl\s*=\s*dsp", source):
            everywhere.faults.append(f"{path.name} binds products to DSPs, away from their sums")
        everywhere.faults += _undivided_arrays(path.name, source)
    _balance_faults(sources, found)
    return [everywhere] if everywhere.faults else []


def _undivided_arrays(file: str, source: str) -> Iterator[str]:
    """Local arrays without a division: clang takes them apart, Vitis HLS makes memories of them."""
    for function in functions(source):
        if "#pragma HLS" not in function.body:
            continue
        for name in _LOCAL_ARRAY.findall(function.body):
            if not re.search(rf"HLS array_\w+ variable\s*=\s*{name}\b", function.body):
                yield f"array '{name}' of {file} is not partitioned"


def _balance_faults(sources: dict[Path, str], found: list[TaskSchedule]) -> None:
    """Sums of products stay as written: `expression_balance off`.

    Balancing would turn chains of DSPs into trees, and put an accumulator in front of its terms.
    """
    bodies = {f.name: f.body for source in sources.values() for f in functions(source)}
    tasks = {task.name: task for task in found}
    for source in sources.values():
        for match in re.finditer(r'FR_TASK\(\s*"(\w+)",\s*(.*?)\);\n', source, re.DOTALL):
            task, called = tasks.get(match[1]), next(calls(match[2]), ("", []))[0]
            balanced = "HLS expression_balance off" not in bodies.get(called, "")
            if task is not None and task.multipliers and balanced:
                task.faults.append("sums of products without expression_balance off")
