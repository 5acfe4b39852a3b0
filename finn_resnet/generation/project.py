"""Write the C++ project of a hardware graph."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.cpp import native_bytes
from finn_resnet.generation.cpp_layout import LINE, wrap_code
from finn_resnet.generation.edges import Edge
from finn_resnet.generation.network import PARAMETER_PORT, Network, build_network
from finn_resnet.generation.parameter_code import parameter_bytes
from finn_resnet.generation.project_file import (
    PARAMETER_FILE,
    Project,
    ProjectParameters,
    ProjectStream,
    ProjectTask,
    ProjectTensor,
)
from finn_resnet.generation.registry import library_folder
from finn_resnet.generation.task_code import StreamDeclaration, TaskCall, WeightMemory
from finn_resnet.generation.templates import render
from finn_resnet.output_folder import HLS_FOLDER, staged_files
from finn_resnet.parallelism.coefficients import coefficient
from finn_resnet.top_name import check_top_name
from finn_resnet.transformation.set_stream_depths import DEPTHS_PROPERTY

_TEMPLATES = ("config.hpp", "top.hpp", "top.cpp", "testbench.cpp")


def generate_project(
    model: ModelWrapper, output_dir: str | Path, top_name: str, backend: str = "hls"
) -> Project:
    """Generate ``<output_dir>/hls/`` from a hardware graph.

    The files are written aside and take their places at the end, so a failed generation leaves
    earlier ones untouched. The same graph gives the same bytes.

    Args:
        model: graph after `LowerToHardware` (docs/architecture.md, section 1).
        output_dir: the build's folder.
        top_name: name of the top function, a C++ identifier.
        backend: what the accelerator is made from, hls or rtl.

    Raises:
        UserError: the name is no identifier, neighbouring nodes disagree on their factors, or the
            folder cannot be written.
    """
    check_top_name(top_name)
    network = build_network(model)
    target = Path(output_dir) / HLS_FOLDER
    project = replace(describe_project(network, top_name, target), backend=backend)
    with staged_files(target) as folder:
        _write_sources(folder, network, top_name, depths_note(model))
        _copy_headers(folder / "include", network.headers)
        project.write(folder)
    return project


def depths_note(model: ModelWrapper) -> str:
    """One sentence on how far the stream depths of a graph can be trusted."""
    if model.get_metadata_prop(DEPTHS_PROPERTY) == "sized":
        return "Stream depths: sized by cycle-level simulation, proven to run at the full rate."
    return "Stream depths: UNPROVEN, not sized by simulation; the design may stall or deadlock."


def _write_sources(folder: Path, network: Network, top: str, note: str) -> None:
    context = {"network": network, "top": top, "declare": declaration, "note": note}
    names = {"top.hpp": f"{top}.hpp", "top.cpp": f"{top}.cpp"}
    for template in _TEMPLATES:
        text = render(template, **context)
        (folder / names.get(template, template)).write_text(wrap_code(text), encoding="utf-8")
    (folder / "weights").mkdir()
    for code in network.nodes:
        for memory in code.memories:
            if not memory.loaded:
                (folder / "weights" / f"{memory.name}.inc").write_text(
                    weight_text(memory), encoding="utf-8"
                )
    if network.loaded_memories:
        (folder / PARAMETER_FILE).write_bytes(parameter_bytes(network.loaded_memories))


def weight_text(memory: WeightMemory) -> str:
    """One brace list a word, wrapped at the line length."""
    return "".join(_wrapped_braces(word) for word in memory.packed_words)


def _wrapped_braces(word: np.ndarray) -> str:
    lines, line = [], "    {"
    for index, value in enumerate(word):
        item = f"{int(value)}u" + ("," if index + 1 < len(word) else "")
        if len(line) + len(item) + 3 > LINE:
            lines.append(line.rstrip())
            line = "     "
        line += item + " "
    return "\n".join([*lines, line.rstrip() + "},"]) + "\n"


def declaration(stream: StreamDeclaration) -> str:
    """Declaration of a stream (array), its pragmas, its name and depth in simulation."""
    array = f"[{stream.lanes}]" if stream.lanes else ""
    lines = [
        f"  fr::stream<{stream.token_type}> {stream.name}{array};",
        f"#pragma HLS stream variable={stream.name} depth={stream.depth}",
    ]
    if stream.storage:
        lines.append(
            f"#pragma HLS bind_storage variable={stream.name} type=fifo impl={stream.storage}"
        )
    return "\n".join([*lines, f"  FR_NAMED({stream.name}, {stream.depth});"])


def describe_project(network: Network, top: str, directory: Path) -> Project:
    """What project.json says of a network (docs/architecture.md, section 3)."""
    return Project(
        directory=directory,
        top=top,
        sources=(f"{top}.cpp", "testbench.cpp"),
        inputs=tuple(network.inputs),
        outputs=tuple(network.outputs),
        parameters=_parameters(network.loaded_memories),
        streams=tuple(_stream(stream) for stream in network.streams),
        tensors=tuple(
            _tensor(edge) for edge in network.edges if edge.kind in ("activation", "skip")
        ),
        tasks=tuple(
            ProjectTask(task.name, code.name, task.kind, _stages(task), task.pipeline_style)
            for code in network.nodes
            for task in code.tasks
        ),
        probes=tuple(probe for code in network.nodes for probe in code.probes),
    )


def _stages(task: TaskCall) -> int:
    """Pipeline stages of a task: what a vendor's tool has reported, else the model's."""
    return int(coefficient("task_depths").get(task.name, task.pipeline_depth))


def _parameters(memories: list[WeightMemory]) -> ProjectParameters | None:
    """The parameter port and its file; None where all memories have their contents."""
    if not memories:
        return None
    content = parameter_bytes(memories)
    layers = tuple(memory.name for memory in memories)
    return ProjectParameters(
        PARAMETER_PORT, PARAMETER_FILE, len(content), zlib.crc32(content), layers
    )


def _stream(stream: StreamDeclaration) -> ProjectStream:
    return ProjectStream(
        name=stream.name,
        lanes=stream.lanes,
        depth=stream.depth,
        width_bits=stream.width_bits,
        kind=stream.kind,
        node=stream.node,
        output=stream.output,
        tensor=stream.tensor,
    )


def _tensor(edge: Edge) -> ProjectTensor:
    return ProjectTensor(
        name=edge.tensor,
        stream=edge.stream,
        shape=edge.shape,
        lanes=edge.layout.lanes,
        ch_par=edge.layout.token[0],
        element_bytes=native_bytes(edge.codes),
        signed=edge.codes.signed,
    )


def _copy_headers(include: Path, own: list[Path]) -> None:
    """The whole library, and the headers of operators defined elsewhere."""
    library = library_folder()
    for header in sorted(library.rglob("*.hpp")):
        target = include / header.relative_to(library)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(header.read_bytes())
    for header in own:
        if not header.is_relative_to(library):
            (include / header.name).write_bytes(header.read_bytes())
