"""report.html: the whole report as one file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from finn_resnet.generation.project_file import PROJECT_FILE, load_project
from finn_resnet.output_folder import (
    EXPLORE_FOLDER,
    HLS_FOLDER,
    HTML_NAME,
    INTERMEDIATE_FOLDER,
    PARETO_PLOT,
)
from finn_resnet.report.occupancy import draw_occupancy
from finn_resnet.report.report_file import read_report
from finn_resnet.report.roofline import DesignPoint, board_roofline, draw_roofline
from finn_resnet.report.table import RESOURCES, result_lines
from finn_resnet.report.timeline import draw_timeline, shown_tasks

_FIRST_HARDWARE_STEP = "lower_to_hardware"


def write_html_report(output_dir: str | Path) -> Path:
    """Write report.html into the folder of a build, from report.json and what lies beside it.

    Sections that a build skipped are said to be missing, never left out in silence.

    Returns:
        The file.

    Raises:
        UserError: there is no readable report.json.
    """
    folder = Path(output_dir)
    report = read_report(folder)
    text = _template().render(
        title=Path((report["model"] or {}).get("path", folder.resolve().name)).stem,
        report=report,
        resources=RESOURCES,
        results=result_lines(report),
        layers=_layer_rows(report),
        roofline=_roofline(report, folder),
        pareto=_pareto(folder),
        graphs=_graphs(folder),
        **_simulation_pictures(report["simulation"]),
    )
    path = folder / HTML_NAME
    path.write_text(text, encoding="utf-8")
    return path


def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("finn_resnet.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["amount"] = _amount
    return environment.get_template("report.html.j2")


def _amount(value: float | int | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if value != int(value) else f"{int(value):,}"


def _layer_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Layers with the length of each bar, in percent of the largest layer."""
    layers = report["layers"] or []
    bars = ("cycles", *RESOURCES)
    largest = {key: max((layer[key] for layer in layers), default=0) or 1 for key in bars}
    return [
        {**layer, "bars": {key: 100 * layer[key] / largest[key] for key in bars}}
        for layer in layers
    ]


def _roofline(report: dict[str, Any], folder: Path) -> str | None:
    """Where the modelled and the simulated rate stand against the board's limits."""
    project = folder / HLS_FOLDER
    if report["throughput"] is None or not (project / PROJECT_FILE).is_file():
        return None
    moved = sum(port.frame_bytes for port in load_project(project).ports)
    macs = report["model"]["macs"]
    points = [
        DesignPoint(label, macs / moved, macs * report[section]["fps"] / 1e9)
        for label, section in (("cost model", "throughput"), ("simulated", "simulation"))
        if report[section] is not None and report[section]["fps"]
    ]
    board = report["board"]
    return draw_roofline(board_roofline(board["budget"]["dsp"], board["clock_mhz"]), points)


def _simulation_pictures(section: dict[str, Any] | None) -> dict[str, str | None]:
    """Task timeline and occupancy of the traced streams; None where there is nothing to show."""
    tasks = shown_tasks(section["tasks"]) if section else []
    traced = [stream for stream in (section or {}).get("streams", []) if "occupancy" in stream]
    return {
        "timeline": draw_timeline(tasks) if tasks else None,
        "occupancy": draw_occupancy(traced) if traced else None,
    }


def _pareto(folder: Path) -> str | None:
    """The plot of a Pareto sweep of this build, without its XML head."""
    plot = folder / EXPLORE_FOLDER / PARETO_PLOT
    if not plot.is_file():
        return None
    text = plot.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _graphs(folder: Path) -> dict[str, str]:
    """Title -> SVG of the graph as lowered and as built, from the saved intermediate models."""
    from qonnx.core.modelwrapper import ModelWrapper

    from finn_resnet.report.graph_drawing import draw_graph

    saved = sorted((folder / INTERMEDIATE_FOLDER).glob("[0-9]*_*.onnx"))
    lowered = [path for path in saved if path.stem.endswith(_FIRST_HARDWARE_STEP)]
    if not lowered:
        return {}
    return {
        "Before the optimisations": draw_graph(ModelWrapper(str(lowered[0]))),
        "As built": draw_graph(ModelWrapper(str(saved[-1]))),
    }
