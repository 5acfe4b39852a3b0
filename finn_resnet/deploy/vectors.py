"""Test vectors: frames of input codes and the codes the model's own execution gives for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx

from finn_resnet.generation.project_file import Project, ProjectPort

DEFAULT_FRAMES = 3


@dataclass(frozen=True)
class TestVectors:
    """Integer codes [N, H, W, C] by port name."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]

    @property
    def frames(self) -> int:
        """N."""
        return len(next(iter(self.inputs.values())))


def model_vectors(model: ModelWrapper, project: Project, pictures: np.ndarray) -> TestVectors:
    """Execute the hardware graph with qonnx, in integers; no generated C++ takes part.

    Args:
        model: graph after `LowerToHardware`, with one input.
        project: the generated project.
        pictures: float32 [N, C, H, W], N >= 1.
    """
    name = model.graph.input[0].name
    frames = [
        execute_onnx(model, {name: picture[None]}, return_full_exec_context=True)
        for picture in pictures
    ]
    return TestVectors(
        inputs=_codes(frames, project.inputs), outputs=_codes(frames, project.outputs)
    )


def random_pictures(model: ModelWrapper, count: int = DEFAULT_FRAMES) -> np.ndarray:
    """Inputs [count, ...] that reach every input code; the first two black and white."""
    _, *shape = model.get_tensor_shape(model.graph.input[0].name)
    (host,) = model.get_nodes_by_op_type("QuantizeInput")
    dtype = np.dtype(model.get_customop_wrapper(host).get_nodeattr("dtype"))
    if dtype.kind != "f":
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
        codes = np.random.default_rng(0).integers(lowest, highest + 1, (count, *shape))
        codes[:1], codes[1:2] = lowest, highest
        return codes.astype(dtype)
    bound = _input_bound(model)
    pictures = np.random.default_rng(0).uniform(-bound, bound, (count, *shape))
    pictures[:1], pictures[1:2] = -bound, bound
    return pictures.astype(np.float32)


def _input_bound(model: ModelWrapper) -> float:
    (host,) = model.get_nodes_by_op_type("QuantizeInput")
    op = model.get_customop_wrapper(host)
    codes = op.code_range()
    return float(op.get_nodeattr("scale")) * max(abs(codes.lo), abs(codes.hi))


def _codes(
    frames: list[dict[str, np.ndarray]], ports: Iterable[ProjectPort]
) -> dict[str, np.ndarray]:
    return {
        port.name: np.concatenate([frame[port.tensor] for frame in frames]).astype(port.dtype)
        for port in ports
    }


def write_vectors(vectors: TestVectors, folder: Path) -> None:
    """Write ``<port>.bin`` for every port: bare codes, NHWC, frames back to back."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, codes in {**vectors.inputs, **vectors.outputs}.items():
        codes.tofile(folder / f"{name}.bin")
