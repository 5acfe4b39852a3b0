"""The folder to copy to the board: driver, manifest, parameters, vectors, notebook."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import Board
from finn_resnet.custom_ops import QuantizeInput, host_steps
from finn_resnet.custom_ops.host_steps import read_steps
from finn_resnet.deploy import driver
from finn_resnet.deploy.block_design import COUNTER, LENGTH_BITS, dma_cell
from finn_resnet.deploy.host_program import write_host_program
from finn_resnet.deploy.notebook import notebook
from finn_resnet.deploy.processing_system import STREAM_BITS
from finn_resnet.deploy.scripts import environment
from finn_resnet.deploy.vectors import TestVectors, model_vectors, random_pictures
from finn_resnet.generation.project import depths_note
from finn_resnet.generation.project_file import Project, ProjectPort
from finn_resnet.output_folder import DEPLOY_FOLDER

NOTEBOOK = "accelerator.ipynb"


def write_deploy_folder(
    model: ModelWrapper,
    project: Project,
    board: Board,
    output_dir: str | Path,
    clock_mhz: float,
    vectors: TestVectors | None = None,
    *,
    input_mean: Sequence[float] = (0.0,),
    input_std: Sequence[float] = (1.0,),
) -> Path:
    """Write ``<output_dir>/deploy``; a bitstream that lies there already stays.

    Args:
        model: the hardware graph the project was generated from.
        project: the generated project.
        board: the target.
        output_dir: the build's folder.
        clock_mhz: fabric clock in MHz, for the README.
        vectors: frames the driver's self-test compares; by default those of `write_scripts`.
        input_mean: per channel or one for all, see `input_std`.
        input_std: the model's input for a pixel is ``(pixel / 255 - input_mean) / input_std``.

    Returns:
        The folder.
    """
    folder = Path(output_dir) / DEPLOY_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if vectors is None:
        vectors = model_vectors(model, project, random_pictures(model))
    content = manifest(model, project, board)
    content |= {"input_mean": list(input_mean), "input_std": list(input_std)}
    (folder / driver.MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for module in (driver, host_steps):
        shutil.copyfile(module.__file__, folder / Path(module.__file__).name)
    np.savez_compressed(folder / driver.VECTORS, **vectors.inputs, **vectors.outputs)
    write_host_program(folder, content, project, board, vectors)
    if project.parameter_file is not None:
        shutil.copyfile(project.parameter_file, folder / project.parameter_file.name)
    text = json.dumps(notebook(content), indent=1) + "\n"
    (folder / NOTEBOOK).write_text(text, encoding="utf-8")
    readme = environment().get_template("deploy_readme.md.j2")
    context = {
        "manifest": content,
        "clock_mhz": f"{clock_mhz:.6g}",
        "frames": vectors.frames,
        "depths_note": depths_note(model),
    }
    (folder / "README.md").write_text(readme.render(context), encoding="utf-8")
    return folder


def manifest(model: ModelWrapper, project: Project, board: Board) -> dict[str, Any]:
    """What the driver knows of the design: ports, DMAs, quantiser, scales, parameter file."""
    parameters = None
    if project.parameters is not None:
        kept = {key: getattr(project.parameters, key) for key in ("file", "bytes", "crc32")}
        parameters = {"dma": dma_cell(project.parameters.name), **kept}
    return {
        "top": project.top,
        "board": board.name,
        "bit_file": f"{project.top}.bit",
        "beat_bytes": STREAM_BITS // 8,
        "largest_transfer": (1 << LENGTH_BITS) - 1,
        "counter": COUNTER,
        "inputs": [driver_stream(port) for port in project.inputs],
        "outputs": [
            {**driver_stream(port), **_values(model, port.tensor)} for port in project.outputs
        ],
        "parameters": parameters,
        "quantiser": _quantiser(model),
    }


def driver_stream(port: ProjectPort) -> dict[str, Any]:
    """What the driver knows of a port (`driver.Stream`)."""
    return {
        "name": port.name,
        "dma": dma_cell(port.name),
        "shape": list(port.shape[1:]),
        "code_bytes": port.code_bytes,
        "signed": port.signed,
    }


def _values(model: ModelWrapper, tensor: str) -> dict[str, Any]:
    """How an output's codes become values, from the host node that ends in it."""
    op = model.get_customop_wrapper(model.find_consumer(tensor))
    scales, zeros, shape = op.attrs("scales", "zero_points", "shape")
    return {
        "scales": [float(scale) for scale in scales],
        "zero_points": [int(zero) for zero in zeros],
        "channels_last": bool(op.get_nodeattr("channels_last")),
        "value_shape": list(shape[1:]),
        "steps": read_steps(op.get_nodeattr("steps")),
        "dtype": op.get_nodeattr("output_type"),
    }


def _quantiser(model: ModelWrapper) -> dict[str, Any]:
    (host,) = model.get_nodes_by_op_type("QuantizeInput")
    return input_description(model.get_customop_wrapper(host))


def input_description(op: QuantizeInput) -> dict[str, Any]:
    """What the driver does to the model's input: the host node's attributes."""
    codes = op.code_range()
    return {
        "dtype": op.get_nodeattr("dtype"),
        "shape": list(op.get_nodeattr("shape"))[1:],
        "channels_last": bool(op.get_nodeattr("channels_last")),
        "steps": read_steps(op.get_nodeattr("steps")),
        "scale": float(op.get_nodeattr("scale")),
        "zero_point": op.get_nodeattr("zero_point"),
        "rounds_first": bool(op.get_nodeattr("rounds_first")),
        "bipolar": bool(op.get_nodeattr("bipolar")),
        "lo": codes.lo,
        "hi": codes.hi,
        "rounding_mode": op.get_nodeattr("rounding_mode").upper(),
    }
