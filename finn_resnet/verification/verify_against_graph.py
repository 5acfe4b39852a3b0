"""Comparison of the generated C++ with its own hardware graph.

Where a build was asked to change codes (the published accumulator form of the residual addition),
the original model is no longer what the C++ must equal: the graph it was generated from is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx

from finn_resnet.generation.project_file import load_project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from finn_resnet.verification.output_port import output_ports
from finn_resnet.verification.verify import Mismatch, Verification, input_codes


def verify_against_graph(
    model: ModelWrapper,
    project_dir: str | Path,
    pictures: np.ndarray,
    *,
    ap_int: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Run pictures through the C++ and through the graph's custom ops, compare every stream and
    what leaves the output port.

    Args:
        model: hardware graph the project was generated from.
        project_dir: the ``hls`` folder of a build.
        pictures: float32 [N, C, H, W], what the model takes.
        ap_int: compile with the vendor's integer headers instead of native integers.
        progress: called with (pictures done, pictures).

    Returns:
        The comparison; indices of a mismatch are [picture, H, W, C].

    Raises:
        UserError: no C++ compiler, no ap_int headers, or pictures of the wrong shape.
        SimulationError: the C++ broke one of its own rules.
    """
    executable = compile_project(Path(project_dir), ap_int=ap_int, checked=True)
    project = load_project(executable.parent)
    names = [tensor.name for tensor in project.tensors]
    ports = output_ports(model, project)
    result = Verification(
        compared_tensors=[*names, *(port.port.tensor for port in ports)],
        definition="hardware graph",
    )
    for index in range(len(pictures)):
        picture = pictures[index : index + 1]
        run = run_codes(executable, input_codes(model, picture), tensors=names)
        expected = execute_onnx(model, {model.graph.input[0].name: picture}, True)
        for name in names:
            _compare(result, model, name, index, expected[name], run.tensors[name])
        for port in ports:
            tensor = port.port.tensor
            _compare(result, model, tensor, index, expected[tensor], port.codes(run))
        result.images += 1
        if progress is not None:
            progress(result.images, len(pictures))
    return result


def _compare(
    result: Verification,
    model: ModelWrapper,
    name: str,
    picture: int,
    expected: np.ndarray,
    found: np.ndarray,
) -> None:
    result.compared_codes += expected.size
    wrong = np.argwhere(found != expected)
    if not len(wrong):
        return
    result.mismatches[name] = result.mismatches.get(name, 0) + len(wrong)
    if result.first_mismatch is None:
        at = tuple(int(i) for i in wrong[0])
        result.first_mismatch = Mismatch(
            name,
            model.find_producer(name).name,
            (picture, *at[1:]),
            int(expected[at]),
            int(found[at]),
        )
