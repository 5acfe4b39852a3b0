"""Scripts from the generated C++ to IP and bitstream: Vitis HLS, Vivado, Makefile."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import Board
from finn_resnet.deploy.block_design import CORE, COUNTER, LENGTH_BITS, block_design
from finn_resnet.deploy.dataflow_check import check_dataflow
from finn_resnet.deploy.pragma_check import check_pragmas
from finn_resnet.deploy.processing_system import STREAM_BITS
from finn_resnet.deploy.vectors import (
    TestVectors,
    model_vectors,
    random_pictures,
    write_vectors,
)
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import Project
from finn_resnet.output_folder import DEPLOY_FOLDER

VECTOR_FOLDER = "vectors"

_TEMPLATES = {
    "Makefile": "Makefile.j2",
    "check_tools.sh": "check_tools.sh.j2",
    "hls.tcl": "hls.tcl.j2",
    "hls_config.cfg.in": "hls_config.cfg.in.j2",
    "vector_testbench.cpp": "vector_testbench.cpp.j2",
    "vivado.tcl": "vivado.tcl.j2",
}
# Written where the board file describes the processing system; without it the build stops at IP.
_BITSTREAM_SCRIPT = "vivado.tcl"
_COPIED = ("packet_end.v",)

# -DFR_VENDOR: the test bench must use the ports' own types (hls/vendor.hpp).
_CFLAGS = "-std=c++17 -DFR_VENDOR"
_IP = {"vendor": "finn_resnet", "library": "hls", "version": "1.0"}
# v++ and vitis-run compile HLS components from 2023.2. C simulation needs `if constexpr`, so a gcc
# of 7 or newer (8.3 since 2022.2), and hls_dsp_builtins.h comes with 2022.2.
_OLDEST_VERSIONS = {"unified": "2023.2", "classic": "2022.2", "vivado": "2022.2"}


def write_scripts(
    model: ModelWrapper,
    project: Project,
    board: Board,
    output_dir: str | Path,
    clock_mhz: float,
    vectors: TestVectors | None = None,
) -> list[Path]:
    """Write the vendor scripts into the project's folder, ``<output_dir>/hls``.

    The HLS sources are checked first: canonical dataflow form and pragmas.

    Args:
        model: the hardware graph the project was generated from.
        project: the generated project.
        board: target; where its file describes no processing system, only IP can be made.
        output_dir: the build's folder; the bitstream goes to its ``deploy``.
        clock_mhz: fabric clock in MHz.
        vectors: frames for C simulation and co-simulation; by default three pictures executed by
            qonnx.

    Returns:
        The files written.

    Raises:
        UserError: the board file describes half a processing system, the board has no URAM for
            a design that needs it, or the clock is no positive number.
        ValueError: the generated sources break the rules of HLS dataflow code.
    """
    faults = [*check_dataflow(project.directory), *check_pragmas(project.directory)]
    if faults:
        raise ValueError(f"the generated sources are no legal HLS code: {'; '.join(faults)}")
    if vectors is None:
        vectors = model_vectors(model, project, random_pictures(model))
    folder = project.directory
    write_vectors(vectors, folder / VECTOR_FOLDER)
    # Relative, so that a build can be moved.
    deploy = os.path.relpath(Path(output_dir).resolve() / DEPLOY_FOLDER, folder.resolve())
    context = script_context(project, board, clock_mhz, vectors.frames, Path(deploy).as_posix())
    written = render_scripts(folder, _TEMPLATES, context)
    return written


def render_scripts(
    folder: Path, templates: Mapping[str, str], context: Mapping[str, Any]
) -> list[Path]:
    """Write scripts (file name -> template) and what is copied as it is; the files written.

    Without a block design in ``context`` the script of the bitstream is left out.
    """
    written = []
    for name, template in templates.items():
        if name == _BITSTREAM_SCRIPT and context["design"] is None:
            continue
        text = environment().get_template(template).render(context)
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    for name in _COPIED:
        shutil.copyfile(template_folder() / name, folder / name)
        written.append(folder / name)
    return written


def script_context(
    project: Project, board: Board, clock_mhz: float, frames: int, deploy: str
) -> dict[str, Any]:
    """What the templates are given.

    Raises:
        UserError: the clock is no positive number, or the board file is not fit.
    """
    if not math.isfinite(clock_mhz) or clock_mhz <= 0:
        raise UserError(f"clock_mhz = {clock_mhz} must be a positive number of MHz")
    parameters = project.parameters
    files = [f"{VECTOR_FOLDER}/{port.name}.bin" for port in project.ports]
    return {
        "top": project.top,
        "board": board,
        "clock_mhz": f"{clock_mhz:.6g}",
        "period_ns": f"{1000 / clock_mhz:.4f}",
        "cflags": _CFLAGS,
        "ip": _IP,
        "versions": _OLDEST_VERSIONS,
        "deploy": deploy,
        "design": block_design(project, board) if board.processing_system else None,
        "core": CORE,
        "counter": COUNTER,
        "length_bits": LENGTH_BITS,
        "stream_bits": STREAM_BITS,
        "data_files": [*files, *([parameters.file] if parameters else [])],
        "frames": frames,
        "inputs": project.inputs,
        "outputs": project.outputs,
        "parameters": parameters,
        "ports": [
            *(port.name for port in project.inputs),
            *([parameters.name] if parameters else []),
            *(port.name for port in project.outputs),
        ],
    }


def template_folder() -> Path:
    """Where the templates of this room lie."""
    return Path(__file__).parent / "templates"


@cache
def environment() -> jinja2.Environment:
    """Templates of this room."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(template_folder())),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
