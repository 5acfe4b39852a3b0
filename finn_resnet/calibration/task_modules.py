"""Which module of csynth.xml is which task of the generated design."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from finn_resnet.calibration.vendor_reports import HlsModule

# FR_TASK("row_0", fr::window_row<Row, 0>(...)) or FR_TASK("conv1", conv1_task(...)): name,
# function, template arguments if it is a template.
_CALL = re.compile(
    r'FR_TASK\(\s*"(?P<task>[^"]+)",\s*(?:fr::)?(?P<function>\w+)(?:<(?P<arguments>[^>]*)>)?\('
)


def modules_of_tasks(source: str | Path, modules: Iterable[HlsModule]) -> dict[str, HlsModule]:
    """Module of every task that has one, by the task's name.

    A module is named after the function (``conv1_task``), or the function template and its
    arguments (``window_row_Row_config_2_s``); the loops of a task may be modules of their own below
    it (``..._Pipeline_VITIS_LOOP_...``), whose stages and interval are the task's. Resources are
    those of the module of the shortest name, which hold all below it.

    Args:
        source: the generated ``<top>.cpp``.
    """
    stems = {
        call["task"]: _identifier(f"{call['function']}_{call['arguments'] or ''}")
        for call in _CALL.finditer(Path(source).read_text(encoding="utf-8"))
    }
    found: dict[str, list[HlsModule]] = {}
    for module in modules:
        mine = [task for task, stem in stems.items() if _belongs(module.name, stem)]
        if mine:
            found.setdefault(max(mine, key=lambda task: len(stems[task])), []).append(module)
    return {task: _whole(task, parts) for task, parts in found.items()}


def _whole(task: str, parts: list[HlsModule]) -> HlsModule:
    depths = [part.pipeline_depth for part in parts if part.pipeline_depth is not None]
    intervals = [part.interval for part in parts if part.interval is not None]
    outer = min(parts, key=lambda part: len(part.name))
    return HlsModule(task, max(depths, default=None), max(intervals, default=None), outer.resources)


def _identifier(text: str) -> str:
    """Template arguments as they stand in a module's name."""
    return re.sub(r"\W+", "_", text).strip("_")


def _belongs(module: str, stem: str) -> bool:
    return module == stem or module.startswith(f"{stem}_")
