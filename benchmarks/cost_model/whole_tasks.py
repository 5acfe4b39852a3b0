"""The whole tasks that are measured: a grid to fit the cost model to, and others to check it on.

A task is a module of ``circuits/`` with its parameters. Those to fit to are chosen by hand, one or
two factors away from a typical one; those held out are drawn at random and never fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

_SEED = 11
_HELD_OUT = {"conv_task": 16, "window_rows": 8, "window_slices": 6, "width_adapter": 12}
# Yosys takes minutes for more.
_MOST_PRODUCTS = {True: 48, False: 14}


@dataclass(frozen=True)
class WholeTask:
    """A circuit and its parameters; ``held_out`` if the fit must not see it."""

    circuit: str
    parameters: dict[str, Any]
    held_out: bool = False

    @property
    def name(self) -> str:
        """Circuit and parameters as one word list."""
        values = (f"{key}={value}" for key, value in sorted(self.parameters.items()))
        return " ".join([self.circuit, *values])


_CONV: list[dict[str, int]] = [
    {},
    {"OCH_PAR": 1, "OW_PAR": 1},
    {"OCH_PAR": 4},
    {"OCH_PAR": 2, "OW_PAR": 1},
    {"OCH_PAR": 3, "OW_PAR": 3, "KERNEL": 1, "ICH_PAR": 3},
    {"OCH_PAR": 1, "OW_PAR": 4},
    {"ICH_PAR": 2, "OCH_PAR": 1},
    {"ICH_PAR": 2, "CHAINS": 2},
    {"ICH_PAR": 2, "CHAINS": 3, "OCH_PAR": 1},
    {"ICH_PAR": 4, "OCH_PAR": 1},
    {"ICH_PAR": 4, "OCH_PAR": 1, "CHAINS": 4},
    {"ICH_PAR": 4, "OCH_PAR": 2, "OW_PAR": 1, "CHAINS": 2},
    {"KERNEL": 1, "ICH_PAR": 8},
    {"KERNEL": 1, "ICH_PAR": 4, "OCH_PAR": 4, "OW_PAR": 1, "CHAINS": 2},
    {"KERNEL": 1, "ICH_PAR": 6, "OCH_PAR": 4, "OW_PAR": 2, "CHAINS": 3},
    {"SKIP": 1},
    {"SKIP": 1, "KERNEL": 1, "ICH_PAR": 2, "OCH_PAR": 4},
    {"IN_GROUPS": 1},
    {"OUT_GROUPS": 1},
    {"OUT_GROUPS": 32, "ACC_BITS": 25, "SHIFT": 9},
    {"STRIDE": 2, "SIGNED_CODES": 1},
    {"KERNEL": 1, "ICH_PAR": 2, "WEIGHT_BITS": 6, "CODE_BITS": 6, "ACC_BITS": 20},
    {"DSP": 0, "KERNEL": 1, "OCH_PAR": 1, "OW_PAR": 1},
    {"DSP": 0, "KERNEL": 1, "ICH_PAR": 4, "OCH_PAR": 1},
    {"DSP": 0, "OCH_PAR": 1, "OW_PAR": 1},
    {"DSP": 0, "KERNEL": 1, "ICH_PAR": 2, "OCH_PAR": 2, "SKIP": 1},
    {"DSP": 0, "CODE_BITS": 4, "WEIGHT_BITS": 4, "OCH_PAR": 1, "ACC_BITS": 16, "SHIFT": 5},
    {"DSP": 0, "KERNEL": 1, "ICH_PAR": 3, "CODE_BITS": 8, "WEIGHT_BITS": 4, "ACC_BITS": 18},
    {"DSP": 0, "KERNEL": 1, "ICH_PAR": 2, "CODE_BITS": 4, "WEIGHT_BITS": 6, "ACC_BITS": 18},
]
_ROWS: list[dict[str, Any]] = [
    {},
    {"GROUPS": 4, "ICH_PAR": 4},
    {"GROUPS": 8, "ICH_PAR": 2, "OW_PAR": 1, "LANES": 1},
    {"GROUPS": 16, "OW_PAR": 4, "LANES": 4},
    {"GROUPS": 4, "ICH_PAR": 3, "OW_PAR": 4, "LANES": 2},
    {"GROUPS": 32, "IH": 16, "IW": 16, "STYLE": "block"},
    {"STRIDE": 2},
    {"STRIDE": 2, "GROUPS": 8, "ICH_PAR": 2, "OW_PAR": 2, "LANES": 4},
    {"GROUPS": 1, "ICH_PAR": 3, "OW_PAR": 4, "LANES": 4},
    {"GROUPS": 16, "IH": 8, "IW": 8, "ICH_PAR": 4, "OW_PAR": 2, "STYLE": "block"},
    {"FH": 5, "FW": 5, "PAD": 2, "GROUPS": 4, "OW_PAR": 1, "LANES": 1},
    {"GROUPS": 2, "ICH_PAR": 4, "BITS": 4},
]
_SLICES: list[dict[str, Any]] = [
    {},
    {"GROUPS": 8, "ICH_PAR": 2, "OW_PAR": 1, "LANES": 1},
    {"GROUPS": 16, "STYLE": "block", "IH": 16, "IW": 16},
    {"STRIDE": 2},
    {"GROUPS": 1, "ICH_PAR": 3},
    {"GROUPS": 4, "ICH_PAR": 4, "OW_PAR": 1, "LANES": 1, "BITS": 4},
]
_ADAPTERS: list[dict[str, int]] = [
    {"IN_PAR": 4, "OUT_PAR": 1},
    {"IN_PAR": 1, "OUT_PAR": 4},
    {"IN_PAR": 3, "OUT_PAR": 2, "CHANNELS": 18},
    {"IN_PAR": 2, "OUT_PAR": 3, "CHANNELS": 16},
    {"IN_PAR": 5, "OUT_PAR": 4, "CHANNELS": 32},
    {"IN_PAR": 2, "OUT_PAR": 2, "IN_LANES": 1, "OUT_LANES": 2},
    {"IN_PAR": 2, "OUT_PAR": 2, "IN_LANES": 4, "OUT_LANES": 1},
    {"IN_PAR": 4, "OUT_PAR": 2, "IN_LANES": 2, "OUT_LANES": 4, "CHANNELS": 32},
    {"IN_PAR": 3, "OUT_PAR": 8, "IN_LANES": 2, "OUT_LANES": 2, "CHANNELS": 64},
    {"IN_PAR": 6, "OUT_PAR": 4, "IN_LANES": 3, "OUT_LANES": 1, "WIDE": 33, "CHANNELS": 24},
    {"IN_PAR": 8, "OUT_PAR": 2, "CHANNELS": 32},
    {"IN_PAR": 7, "OUT_PAR": 3, "CHANNELS": 32, "BITS": 4},
]


def whole_tasks() -> list[WholeTask]:
    """Every task that is measured, those of the fit first."""
    grids = {
        "conv_task": [_conv_parameters(parameters) for parameters in _CONV],
        "window_rows": _ROWS,
        "window_slices": _SLICES,
        "width_adapter": _ADAPTERS,
    }
    draw = {
        "conv_task": _random_conv,
        "window_rows": _random_rows,
        "window_slices": _random_slices,
        "width_adapter": _random_adapter,
    }
    fitted = [WholeTask(circuit, p) for circuit, grid in grids.items() for p in grid]
    random = Random(_SEED)
    held_out: dict[str, WholeTask] = {}
    names = {task.name for task in fitted}
    for circuit, count in _HELD_OUT.items():
        found = 0
        while found < count:
            task = WholeTask(circuit, draw[circuit](random), held_out=True)
            if task.name not in names:
                names.add(task.name)
                held_out[task.name] = task
                found += 1
    return [*fitted, *held_out.values()]


def _conv_parameters(parameters: dict[str, int]) -> dict[str, int]:
    """Parameters with the window's width and the width of a sum, which follow from the others."""
    found = dict(parameters)
    stride = found.pop("STRIDE", 1)
    width = 1 if found.get("KERNEL", 9) == 1 else 3
    found["COLUMNS"] = width + (found.get("OW_PAR", 2) - 1) * stride
    found["SUM_BITS"] = found.get("ACC_BITS", 22) - (2 if found.get("IN_GROUPS", 16) > 1 else 0)
    return found


def _random_conv(random: Random) -> dict[str, int]:
    while True:
        dsp = random.random() < 0.7
        found = {
            "KERNEL": random.choice((1, 9)),
            "ICH_PAR": random.choice((1, 2, 3, 4, 5, 8)),
            "OCH_PAR": random.choice((1, 2, 3, 4, 6)),
            "OW_PAR": random.choice((1, 2, 3, 4)),
            "IN_GROUPS": random.choice((1, 4, 16, 32)),
            "OUT_GROUPS": random.choice((1, 4, 8, 16)),
            "STRIDE": random.choice((1, 1, 2)),
            "SKIP": int(random.random() < 0.3),
            "ACC_BITS": random.choice((20, 22, 24)),
            "DSP": int(dsp),
        }
        taps = found["KERNEL"] * found["ICH_PAR"]
        found["CHAINS"] = random.randint(1, max(taps // 4, 1)) if dsp else 1
        products = taps * found["OCH_PAR"] * found["OW_PAR"]
        if products <= _MOST_PRODUCTS[dsp]:
            return _conv_parameters(found)


def _random_window(random: Random) -> dict[str, Any]:
    size = random.choice((8, 16, 32))
    lanes = random.choice((1, 2, 4))
    return {
        "IH": size,
        "IW": size,
        "GROUPS": random.choice((1, 2, 4, 8, 16)),
        "ICH_PAR": random.choice((1, 2, 3, 4)),
        "OW_PAR": lanes,
        "LANES": lanes,
        "STRIDE": random.choice((1, 1, 2)),
        "STYLE": random.choice(("distributed", "block")),
    }


def _random_rows(random: Random) -> dict[str, Any]:
    return _random_window(random)


def _random_slices(random: Random) -> dict[str, Any]:
    while True:
        found = _random_window(random)
        if found["OW_PAR"] * found["ICH_PAR"] <= 4:
            return found


def _random_adapter(random: Random) -> dict[str, int]:
    while True:
        found = {
            "IN_PAR": random.choice((1, 2, 3, 4, 6, 8)),
            "OUT_PAR": random.choice((1, 2, 3, 4, 6, 8)),
            "IN_LANES": random.choice((1, 2, 4)),
            "OUT_LANES": random.choice((1, 2, 4)),
            "CHANNELS": random.choice((16, 24, 32, 48)),
        }
        if (found["IN_PAR"], found["IN_LANES"]) != (found["OUT_PAR"], found["OUT_LANES"]):
            return found
