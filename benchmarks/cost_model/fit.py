"""Fit the cost model's coefficients to measured whole tasks, and check it on others.

    python benchmarks/cost_model/fit.py            # check: model against the tasks held out
    python benchmarks/cost_model/fit.py --write    # fit first, and write coefficients.json

The model is linear in its coefficients, so the fit is least squares (none negative) of relative
errors, once for the lower and once for the higher bound. What a device's user guide gives (shift
registers, memories, carry chains of adders) is not fitted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure_tasks import read_measurements
from scipy.optimize import nnls
from whole_tasks import WholeTask, whole_tasks

from finn_resnet.boards import Resources
from finn_resnet.numerics.dsp_packing import PAIRS
from finn_resnet.parallelism import coefficients as cost_coefficients
from finn_resnet.parallelism.coefficients import coefficients, replaced_coefficients
from finn_resnet.parallelism.conv_cost import ConvFactors, ConvShape, conv_cost
from finn_resnet.parallelism.stream_task_cost import Picture, adapter_cost
from finn_resnet.parallelism.window_cost import WindowFactors, WindowShape, window_cost
from finn_resnet.transformation.stream_profile import StreamProfile

COEFFICIENTS = Path(cost_coefficients.__file__).with_name("coefficients.json")
# The coefficients that the fit decides, by the circuits they stand in.
FITTED = {
    ("conv_task",): (
        "lut_multiplier_lut_per_bit",
        "shift_requant_lut",
        "shift_requant_lut_per_bit",
        "conv_task_ff",
        "operand_ff_per_bit",
        "accumulate_ff_per_bit",
    ),
    ("window_rows", "window_slices"): (
        "row_lut",
        "slice_lut",
        "row_ff",
        "slice_ff",
        "pad_lut_per_bit",
        "pad_lut_per_tap",
        "pad_lut_per_edge",
        "register_fifo_lut_per_bit",
        "fifo_control_lut",
        "fifo_control_lut_per_address_bit",
        "memory_fifo_lut",
    ),
    ("width_adapter",): (
        "adapter_lut",
        "adapter_ff",
        "adapter_lut_per_kept_bit",
        "adapter_lut_per_placed_bit",
        "adapter_lut_per_selected_bit",
    ),
}
# What a vendor's HLS puts around a task is in no circuit.
NOT_MEASURED = {"hls_task_lut": {"low": 0, "high": 0}}
BOUNDS = ("lut_low", "lut_high", "ff")
_DEFAULTS = {
    "conv_task": {
        "KERNEL": 9,
        "ICH_PAR": 1,
        "OCH_PAR": 2,
        "OW_PAR": 2,
        "IN_GROUPS": 16,
        "OUT_GROUPS": 4,
        "CODE_BITS": 8,
        "SIGNED_CODES": 0,
        "WEIGHT_BITS": 8,
        "ACC_BITS": 22,
        "SHIFT": 7,
        "DSP": 1,
        "CHAINS": 1,
        "SKIP": 0,
    },
    "window": {
        "IH": 32,
        "IW": 32,
        "GROUPS": 16,
        "ICH_PAR": 1,
        "FH": 3,
        "FW": 3,
        "OW_PAR": 2,
        "LANES": 2,
        "STRIDE": 1,
        "PAD": 1,
        "BITS": 8,
        "STYLE": "distributed",
    },
    "width_adapter": {"CHANNELS": 16, "IN_LANES": 1, "OUT_LANES": 1, "BITS": 8, "WIDE": 32},
}


def modelled(task: WholeTask) -> Resources:
    """What the cost model says of a measured task."""
    if task.circuit == "conv_task":
        return _conv({**_DEFAULTS["conv_task"], **task.parameters})
    if task.circuit == "width_adapter":
        p = {**_DEFAULTS["width_adapter"], **task.parameters}
        picture = Picture(32, p["WIDE"], p["CHANNELS"], p["BITS"])
        source = StreamProfile(p["IN_LANES"], p["IN_PAR"])
        return adapter_cost(picture, source, StreamProfile(p["OUT_LANES"], p["OUT_PAR"]))
    p = {**_DEFAULTS["window"], **task.parameters}
    return _window(p, task.circuit.removeprefix("window_"))


def _conv(p: dict[str, Any]) -> Resources:
    side = 1 if p["KERNEL"] == 1 else 3
    shift = {"kind": "shift", "shift": p["SHIFT"], "lo": 0, "hi": 255}
    first = {"kind": "shift", "shift": p["SHIFT"], "lo": -128, "hi": 127}
    second = {"kind": "shift", "shift": p["ACC_BITS"] - 10, "lo": 0, "hi": 255}
    stages = [first, second] if p["SKIP"] else [shift]
    taps = p["KERNEL"] * p["ICH_PAR"]
    stride = 1
    if "COLUMNS" in p and p["OW_PAR"] > 1:
        stride = (p["COLUMNS"] - side) // (p["OW_PAR"] - 1)
    shape = ConvShape(
        och=p["OCH_PAR"] * p["OUT_GROUPS"],
        ich=p["ICH_PAR"] * p["IN_GROUPS"],
        oh=32,
        ow=32,
        fh=side,
        fw=side,
        stride_w=stride,
        in_bits=p["CODE_BITS"],
        weight_bits=p["WEIGHT_BITS"],
        acc_bits=p["ACC_BITS"],
        packing=PAIRS,
        signed_codes=bool(p["SIGNED_CODES"]),
        skip=bool(p["SKIP"]),
        requants=tuple(json.dumps([stage]) for stage in stages),
    )
    chain = -(-taps // p["CHAINS"])
    ends = (*range(chain, taps, chain), taps)
    style = "dsp" if p["DSP"] else "lut"
    factors = ConvFactors(p["OCH_PAR"], p["ICH_PAR"], p["OW_PAR"], style, ends)
    return conv_cost(shape, factors)


def _window(p: dict[str, Any], style: str) -> Resources:
    shape = WindowShape(
        ich=p["ICH_PAR"] * p["GROUPS"],
        ih=p["IH"],
        iw=p["IW"],
        oh=p["IH"] // p["STRIDE"],
        ow=p["IW"] // p["STRIDE"],
        fh=p["FH"],
        fw=p["FW"],
        stride_w=p["STRIDE"],
        pad_left=p["PAD"],
        code_bits=p["BITS"],
    )
    link = "bram" if p["STYLE"] == "block" else "lut"
    return window_cost(shape, WindowFactors(p["ICH_PAR"], p["OW_PAR"], p["LANES"], link, style))


def figure(cost: Resources, bound: str) -> float:
    """The modelled figure that stands beside a measured one of `BOUNDS`."""
    return {"lut_low": cost.lut_low, "lut_high": cost.lut, "ff": cost.ff_low}[bound]


def fit(measured: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Bounds of every fitted coefficient: name -> ``{"low": .., "high": ..}``."""
    found: dict[str, dict[str, float]] = {}
    for circuits, names in FITTED.items():
        tasks = [
            t
            for t in whole_tasks()
            if t.circuit in circuits and not t.held_out and t.name in measured
        ]
        for bound in BOUNDS:
            resource = bound.partition("_")[0]
            mine = [n for n in names if coefficients()[n]["resource"] == resource]
            if not mine or not tasks:
                continue
            # The higher bound is what must be added to the lower one.
            least = [found.get(name, {}).get("low", 0.0) for name in mine]
            if bound == "lut_low" or resource == "ff":
                least = [0.0] * len(mine)
            values = _fit_bound(tasks, dict(zip(mine, least, strict=True)), bound, measured)
            for name, value in zip(mine, values, strict=True):
                entry = found.setdefault(name, {"high": coefficients()[name]["high"]})
                entry[bound.rpartition("_")[2] if resource == "lut" else "low"] = round(value, 2)
                entry["high"] = max(entry["low"], entry["high"])
    return found


def _fit_bound(
    tasks: list[WholeTask],
    least: dict[str, float],
    bound: str,
    measured: dict[str, dict[str, float]],
) -> list[float]:
    """Least squares of relative errors; a column is what one unit of a coefficient adds."""

    def costs(values: dict[str, float]) -> np.ndarray:
        entries = {name: {"low": value, "high": value} for name, value in values.items()}
        with replaced_coefficients(entries):
            return np.array([figure(modelled(task), bound) for task in tasks])

    fixed = costs(least)
    columns = np.stack([costs({**least, n: v + 1.0}) - fixed for n, v in least.items()], axis=1)
    truth = np.array([measured[task.name][bound] for task in tasks])
    added = nnls(columns / truth[:, None], (truth - fixed) / truth)[0]
    return [float(more) + low for more, low in zip(added, least.values(), strict=True)]


def errors(
    tasks: Iterable[WholeTask], measured: dict[str, dict[str, float]]
) -> list[tuple[WholeTask, dict[str, float]]]:
    """Relative error of the model for each bound, (model - measured) / measured."""
    found = []
    for task in tasks:
        if task.name not in measured:
            continue
        cost, truth = modelled(task), measured[task.name]
        error = {b: figure(cost, b) / max(truth[b], 1) - 1 for b in BOUNDS}
        error["dsp"] = cost.dsp - truth["dsp"]
        error["bram36"] = cost.bram36 - truth["bram36"]
        found.append((task, error))
    return found


def write(found: dict[str, dict[str, float]], count: int) -> None:
    """Put the fitted bounds into coefficients.json."""
    entries = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    for name, bounds in found.items():
        entries[name].update(bounds)
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    COEFFICIENTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(found)} coefficients fitted to {count} tasks")


def main() -> None:
    """Check the shipped coefficients, or fit new ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="fit and write coefficients.json")
    parser.add_argument("--all", action="store_true", help="show the tasks of the fit too")
    arguments = parser.parse_args()
    with replaced_coefficients(NOT_MEASURED):
        _report(arguments, read_measurements())


def _report(arguments: argparse.Namespace, measured: dict[str, dict[str, float]]) -> None:
    tasks = [task for task in whole_tasks() if task.name in measured]
    found = fit(measured) if arguments.write else {}
    with replaced_coefficients(found):
        rows = errors([t for t in tasks if arguments.all or t.held_out], measured)
        for task, error in rows:
            text = ", ".join(f"{bound} {100 * error[bound]:+.0f} %" for bound in BOUNDS)
            print(f"{task.name}: {text}; DSP {error['dsp']:+g}, BRAM36 {error['bram36']:+g}")
        held = [(t, e) for t, e in rows if t.held_out]
        for bound in BOUNDS if held else ():
            sizes = [abs(e[bound]) for _, e in held]
            worst = max(held, key=lambda row: abs(row[1][bound]))
            print(
                f"{bound}, {len(held)} tasks held out: median error {100 * median(sizes):.0f} %, "
                f"worst {100 * worst[1][bound]:+.0f} % ({worst[0].name})"
            )
    if arguments.write:
        for name, bounds in sorted(found.items()):
            print(name, bounds)
        write(found, sum(not task.held_out for task in tasks))


if __name__ == "__main__":
    main()
