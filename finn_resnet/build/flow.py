"""The build flow: check everything, run the steps in order, swap the output in.

`build` is the whole of `finn-resnet build` as a Python function; the steps it runs are in
`finn_resnet.build.steps` and may be replaced or left out through the configuration.
"""

from __future__ import annotations

import copy
import importlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from finn_resnet import progress
from finn_resnet.boards import load_board
from finn_resnet.build import preflight, report_sections
from finn_resnet.build import steps as build_steps
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.output_folder import (
    INTERMEDIATE_FOLDER,
    ORIGINAL_MODEL,
    SETTINGS_NAME,
    staged_output,
)
from finn_resnet.report.report_file import read_report, start_report, update_report
from finn_resnet.transformation.check_hardware_graph import check_hardware_graph

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper

_FOLDING_STEP = "step_set_parallelism"
Step = Callable[["ModelWrapper", BuildConfig], "ModelWrapper"]


@dataclass(frozen=True)
class BuildResult:
    """A finished build: its folder, the final graph and the content of report.json."""

    output_dir: Path
    model: ModelWrapper
    report: dict[str, Any]

    def __repr__(self) -> str:
        return f"BuildResult({str(self.output_dir)!r}: {self._headline()})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the results of the report as a table."""
        from html import escape

        from finn_resnet.report.table import result_lines

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th>"
            f"<td style='text-align:left'>{escape(line)}</td></tr>"
            for label, line in result_lines(self.report)
        )
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>"

    def _headline(self) -> str:
        rate = self.report["simulation"] or self.report["throughput"]
        if not rate or not rate["fps"]:
            return "rate not estimated"
        source = "simulated" if self.report["simulation"] else "cost model"
        return (
            f"{rate['cycles_per_frame']:,} cycles per frame, {rate['fps']:,.0f} frames/s, {source}"
        )

    @property
    def failure(self) -> str | None:
        """Why the verification failed, in one line; None also where it was skipped."""
        sections = (self.report[name] for name in ("verification", "rtl_simulation"))
        return next((found["failure"] for found in sections if found and found["failure"]), None)


def build(config: BuildConfig) -> BuildResult:
    """Turn a quantised model into a verified accelerator in `config.output_dir`.

    Everything that can be wrong with the request is checked before the first file is written,
    and an earlier build in the same folder is replaced only by a finished one.

    Raises:
        UserError: the request cannot be met, with what, why and the remedy.
    """
    from finn_resnet.parallelism.coefficients import calibrated

    config = preflight.completed(config)
    steps = [(name, find_step(name)) for name in config.steps]
    model = preflight.checked_model(config)
    target = Path(config.output_dir)
    with progress.for_notebook(), calibrated(config.coefficients_file):
        if config.backend == "rtl":
            _check_rtl(model, config, steps)
        if config.folding_config_file is not None:
            _try_folding(model, config, steps)
        return _built(model, config, steps, target)


def _built(
    model: ModelWrapper, config: BuildConfig, steps: list[tuple[str, Step]], target: Path
) -> BuildResult:
    with staged_output(target) as staging:
        _start(config, staging)
        model = run_steps(model, config.replace(output_dir=str(staging)), steps)
    return BuildResult(target, model, read_report(target))


def _try_folding(model: ModelWrapper, config: BuildConfig, steps: list[tuple[str, Step]]) -> None:
    """Run the steps up to the parallelism in a scratch folder: a folding names nodes they make.

    Raises:
        UserError: the folding file names an unknown node or setting, or an illegal value.
    """
    names = [name for name, _ in steps]
    if _FOLDING_STEP in names:
        _in_scratch(model, config, steps[: names.index(_FOLDING_STEP) + 1])


def _check_rtl(model: ModelWrapper, config: BuildConfig, steps: list[tuple[str, Step]]) -> None:
    """Refuse what has no RTL before the first file is written and before the search.

    Raises:
        UserError: operators or attribute values without RTL, all of them at once.
    """
    from finn_resnet.generation.rtl.rtl_network import build_rtl

    names = [name for name, _ in steps]
    if {_FOLDING_STEP, "step_generate"} <= set(names):
        build_rtl(_in_scratch(model, config, steps[: names.index(_FOLDING_STEP)]), "checked")


def _in_scratch(
    model: ModelWrapper, config: BuildConfig, steps: list[tuple[str, Step]]
) -> ModelWrapper:
    """Run some steps on a copy, without a trace."""
    with TemporaryDirectory() as scratch, progress.use(progress.Progress()):
        _start(config, Path(scratch))
        return run_steps(copy.deepcopy(model), config.replace(output_dir=scratch), steps)


def _start(config: BuildConfig, staging: Path) -> None:
    """Put what identifies the build into its folder: settings, original model, board."""
    start_report(staging)
    settings = json.dumps(config.as_dict(), indent=2) + "\n"
    (staging / SETTINGS_NAME).write_text(settings, encoding="utf-8")
    (staging / INTERMEDIATE_FOLDER).mkdir()
    from finn_resnet.importing.load import copy_model

    copy_model(config.model, staging / ORIGINAL_MODEL)
    update_report(staging, "backend", config.backend)
    report_sections.record_board(load_board(config.board), config.replace(output_dir=str(staging)))


def find_step(name: str) -> Step:
    """The step function of a built-in step's name or of a dotted name `package.module.function`.

    Raises:
        UserError: no such step.
    """
    if name in build_steps.DEFAULT_STEPS:
        return getattr(build_steps, name)
    if "." not in name:
        raise UserError(
            f"step '{name}' is unknown; {did_you_mean(name, build_steps.DEFAULT_STEPS)}; a step of "
            "your own is given as package.module.function"
        )
    module_name, _, function_name = name.rpartition(".")
    try:
        step = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise UserError(
            f"step '{name}' cannot be imported: {fault}; check the name and PYTHONPATH"
        ) from fault
    if not callable(step):
        raise UserError(f"step '{name}' is no function; give a function step(model, cfg)")
    return step


def _checked_result(name: str, result: Any) -> ModelWrapper:
    """What a step returned, if that is a legal graph; else the step is blamed."""
    from qonnx.core.modelwrapper import ModelWrapper

    if not isinstance(result, ModelWrapper):
        raise UserError(
            f"step '{name}' returned {type(result).__name__}, not a model; end it with "
            "'return model'"
        )
    problems = check_hardware_graph(result)
    if problems:
        raise UserError(f"step '{name}' left a graph that is no hardware: {'; '.join(problems)}")
    return result


def run_steps(
    model: ModelWrapper, config: BuildConfig, steps: list[tuple[str, Step]]
) -> ModelWrapper:
    """Run the steps in order, timing each and saving the graph after it."""
    display = progress.current()
    timings: dict[str, float] = {}
    output_dir = Path(config.output_dir)
    for index, (name, step) in enumerate(steps, 1):
        label = name.rpartition(".")[2].removeprefix("step_")
        display.begin(label.replace("_", " "), index, len(steps))
        start = time.perf_counter()
        model = _checked_result(name, step(model, config))
        seconds = time.perf_counter() - start
        # The same step may run twice: its times add up.
        timings[label] = round(timings.get(label, 0.0) + seconds, 3)
        update_report(output_dir, "timings_s", timings)
        # The last graph is what the C++ came from: `finn-resnet verify` needs it in any case.
        if config.save_intermediate_models or index == len(steps):
            model.save(str(output_dir / INTERMEDIATE_FOLDER / f"{index:02d}_{label}.onnx"))
        display.end(label.replace("_", " "), seconds)
    return model
