"""report.html: the whole report as one file that needs nothing else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finn_resnet import __version__
from finn_resnet.custom_ops import is_helper
from finn_resnet.generation.project_file import PROJECT_FILE, load_project
from finn_resnet.output_folder import (
    EXPLORE_FOLDER,
    HLS_FOLDER,
    HTML_NAME,
    INTERMEDIATE_FOLDER,
    PARETO_PLOT,
    SETTINGS_NAME,
)
from finn_resnet.report.occupancy import draw_occupancy
from finn_resnet.report.report_file import read_report
from finn_resnet.report.roofline import (
    PRODUCTS_PER_DSP,
    DesignPoint,
    board_roofline,
    draw_roofline,
    products_roofline,
)
from finn_resnet.report.table import RESOURCES, grouped_layers, result_lines
from finn_resnet.report.timeline import draw_timeline, shown_tasks
from finn_resnet.report.value_ranges import ValueProfile, draw_value_ranges

if TYPE_CHECKING:
    from onnx import NodeProto
    from qonnx.core.modelwrapper import ModelWrapper

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
    report, graphs = read_report(folder), _graphs(folder)
    text = _template().render(
        title=Path((report["model"] or {}).get("path", folder.resolve().name)).stem,
        report=report,
        resources=RESOURCES,
        results=result_lines(report),
        version=__version__,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        folder=folder,
        settings=_settings(folder),
        tiles=_tiles(report),
        slowest=_slowest(report),
        parallelism=(report["optimisations"] or {}).get("parallelism") or {},
        groups=_groups(report, graphs[-1] if graphs else None),
        critical=_critical(report["simulation"]),
        roofline=_roofline(report, folder, graphs[-1] if graphs else None),
        pareto=_pareto(folder),
        ranges=_value_ranges(report, graphs[-1] if graphs else None),
        graphs=_drawings(graphs),
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


def _settings(folder: Path) -> str | None:
    path = folder / SETTINGS_NAME
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _tiles(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The few figures looked for first: `figure`, `name`, where it is from, whether it is bad."""
    tiles = []

    def add(figure: str, name: str, source: str, bad: bool = False) -> None:
        tiles.append({"figure": figure, "name": name, "source": source, "bad": bad})

    simulated, estimated = report["simulation"], report["throughput"]
    rate, source = (simulated, "simulated C++") if simulated else (estimated, "cost model")
    if rate and rate["fps"]:
        add(f"{rate['fps']:,.0f}", "frames/s", source)
        add(f"{rate['cycles_per_frame']:,}", "cycles per frame", source)
        add(f"{rate['latency_cycles']:,}", "cycles latency", source)
    for key in ("dsp", "lut"):
        if report["totals"] and report["board"]:
            share = 100 * report["totals"][key] / report["board"]["budget"][key]
            add(f"{share:.0f} %", f"of the {RESOURCES[key]}s", "cost model", share > 100)
    if report["verification"]:
        wrong, checked = (report["verification"][k] for k in ("mismatched_codes", "compared_codes"))
        add(f"{wrong:,}", f"of {checked:,} codes differ", "C++ against the model", wrong > 0)
    return tiles


def _slowest(report: dict[str, Any]) -> list[str]:
    """Layers at the slowest rate; what serves a layer is not named beside it."""
    if not report["layers"] or not report["throughput"]:
        return []
    limit = report["throughput"]["cycles_per_frame"]
    groups = grouped_layers(report["layers"])
    return [g["name"] for g in groups if g["cycles"] == limit and not is_helper(g["op"])]


def _groups(report: dict[str, Any], graph: ModelWrapper | None) -> list[list[dict[str, Any]]]:
    """Layers in data order, each followed by what serves it, with lengths of bars in percent."""
    layers = {layer["name"]: layer for layer in report["layers"] or []}
    bars = ("cycles", *RESOURCES)
    largest = {key: max((e[key] for e in layers.values()), default=0) or 1 for key in bars}
    slowest = (report["throughput"] or {}).get("cycles_per_frame")
    rows = {
        name: {
            **layer,
            "bars": {key: 100 * layer[key] / largest[key] for key in bars},
            "slowest": layer["cycles"] == slowest,
        }
        for name, layer in layers.items()
    }
    members = {g["name"]: g["members"] for g in grouped_layers([*layers.values()])}
    for name in [name for name in members if layers[name]["op"] == "ParameterStream"]:
        # The parameters of a merged downsample are named after it, and read by its partner.
        reader = _reader(graph, name)
        if reader in members:
            members[reader] += members.pop(name)
    return [[rows[name] for name in names] for names in members.values()]


def _reader(graph: ModelWrapper | None, name: str) -> str | None:
    """The node that reads the output of node `name`."""
    node = graph.get_node_from_name(name) if graph is not None else None
    reader = graph.find_consumer(node.output[0]) if node is not None else None
    return None if reader is None else reader.name


def _critical(section: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Streams that were full at some time, those that hold most bits first."""
    streams = [s for s in (section or {}).get("streams", []) if s["max_occupancy"] >= s["depth"]]
    return sorted(streams, key=lambda s: -s["depth"] * s["width_bits"])


def _roofline(report: dict[str, Any], folder: Path, graph: ModelWrapper | None) -> str | None:
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
    products = max((e.get("products_per_dsp") or 0 for e in report["layers"] or []), default=0)
    roof = board_roofline(board["budget"]["dsp"], board["clock_mhz"], products or PRODUCTS_PER_DSP)
    built = _built_products(graph) if graph is not None else {}
    others = []
    if sum(built.values()):
        label = f"built: {built['dsp']:,} products in DSPs, {built['lut']:,} in LUTs"
        others = [products_roofline(sum(built.values()), board["clock_mhz"], label)]
    return draw_roofline(roof, points, others)


def _built_products(graph: ModelWrapper) -> dict[str, int]:
    """Multiplications a cycle that a hardware graph has multipliers for, by their style."""
    from finn_resnet.transformation.graph_edit import convolutions

    built = {"dsp": 0, "lut": 0}
    for op in convolutions(graph):
        built[op.get_nodeattr("mac_style")] += op.products()
    return built


def _simulation_pictures(section: dict[str, Any] | None) -> dict[str, str | None]:
    """Task timeline and occupancy of the traced streams; None where there is nothing to show."""
    tasks = shown_tasks(section["tasks"]) if section else []
    traced = [stream for stream in (section or {}).get("streams", []) if "occupancy" in stream]
    return {
        "timeline": draw_timeline(tasks) if tasks else None,
        "occupancy": draw_occupancy(traced) if traced else None,
    }


def _value_ranges(report: dict[str, Any], graph: ModelWrapper | None) -> dict[str, str]:
    """Title -> box plots of the weights of every layer, and of the codes of the pictures."""
    found = {}
    if graph is not None:
        weights = [_weight_profile(graph, n) for n in graph.get_nodes_by_op_type("ParameterStream")]
        found["Weights"] = weights
    entries = (report["verification"] or {}).get("coverage", [])
    found["Activations, in the given pictures"] = [
        ValueProfile.of_counts(entry["tensor"], entry["range"][0], np.array(entry["counts"]))
        for entry in entries
        if entry.get("counts")
    ]
    return {title: draw_value_ranges(rows, title) for title, rows in found.items() if rows}


def _weight_profile(graph: ModelWrapper, node: NodeProto) -> ValueProfile:
    kind = graph.get_tensor_datatype(node.output[0])
    codes = graph.get_initializer(node.input[0]).astype(np.int64).ravel()
    lo, hi = int(kind.min()), int(kind.max())
    counts = np.bincount(codes - lo, minlength=hi - lo + 1)
    return ValueProfile.of_counts(node.name, lo, counts)


def _pareto(folder: Path) -> str | None:
    """The plot of a Pareto sweep of this build, without its XML head."""
    plot = folder / EXPLORE_FOLDER / PARETO_PLOT
    if not plot.is_file():
        return None
    text = plot.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _graphs(folder: Path) -> list[ModelWrapper]:
    """The graph as lowered and as built, from the saved intermediate models."""
    from qonnx.core.modelwrapper import ModelWrapper

    saved = sorted((folder / INTERMEDIATE_FOLDER).glob("[0-9]*_*.onnx"))
    lowered = [path for path in saved if path.stem.endswith(_FIRST_HARDWARE_STEP)]
    if not lowered:
        return []
    return [ModelWrapper(str(lowered[0])), ModelWrapper(str(saved[-1]))]


def _drawings(graphs: list[ModelWrapper]) -> dict[str, str]:
    """Title -> SVG of each graph."""
    from finn_resnet.report.graph_drawing import draw_graph

    titles = ("Before the optimisations", "As built")
    return {title: draw_graph(graph) for title, graph in zip(titles, graphs, strict=False)}
