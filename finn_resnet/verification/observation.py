"""Where each tensor of the original can be seen in a run of the generated C++."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.project_file import Project, ProjectProbe
from finn_resnet.numerics.requantiser import Requantiser
from finn_resnet.simulation.runner import SimulatedCodes
from finn_resnet.transformation.derived_tensors import derived_tensors, fused_tensors
from finn_resnet.transformation.graph_edit import as_op


@dataclass(frozen=True)
class Observation:
    """``tensor`` is ``map_`` of a stream's codes, or of a task's probed accumulator.

    Exactly one of ``stream`` (name of a project tensor) and ``probe`` (id) is set. ``node`` is the
    task that computes the tensor: what a mismatch is blamed on.
    """

    tensor: str
    node: str
    map_: Requantiser
    stream: str | None = None
    probe: int | None = None

    def codes(self, run: SimulatedCodes, project: Project) -> np.ndarray:
        """Codes [N, H, W, C] (int64) in a run."""
        if self.stream is not None:
            return self.map_(run.tensors[self.stream])
        record = next(p for p in project.probes if p.id == self.probe)
        return self.map_(arrange_probe(run.probes[self.probe], record))


def observe(
    model: ModelWrapper, project: Project, tensors: list[str], required: set[str]
) -> list[Observation]:
    """Find every tensor of ``tensors`` (names of the original) in a generated project.

    Args:
        model: the hardware graph the project was generated from.
        project: its description.
        tensors: tensors of the original that hold integers times a scale.
        required: those of them that must be seen.

    Raises:
        LookupError: a required tensor can be seen nowhere; every transformation has to record
            where it moves a tensor.
    """
    streams = {tensor.name for tensor in project.tensors}
    probes = {(p.node, p.kind): p.id for p in project.probes}
    inside = _inside_tasks(model)
    derived = derived_tensors(model)

    def find(tensor: str) -> Observation | None:
        for name in (tensor, f"{tensor}_codes"):
            if name in streams:
                producer = model.find_producer(name)
                return Observation(tensor, producer.name, Requantiser(), stream=name)
        node, kind, map_ = inside.get(tensor, (None, None, None))
        if (node, kind) in probes:
            return Observation(tensor, node, map_, probe=probes[(node, kind)])
        if tensor in derived:
            source, map_ = derived[tensor]
            found = find(source)
            if found is not None:
                map_ = found.map_.then(map_)
                return Observation(tensor, found.node, map_, found.stream, found.probe)
        return None

    unseen = [tensor for tensor in tensors if tensor in required and find(tensor) is None]
    if unseen:
        raise LookupError(
            f"tensor {unseen[0]} of the original is seen nowhere in the hardware graph"
        )
    return [seen for tensor in tensors if (seen := find(tensor)) is not None]


def _inside_tasks(model: ModelWrapper) -> dict[str, tuple[str, str, Requantiser]]:
    """Tensor -> (node, probe kind, map from what is probed)."""
    kinds = {
        "fused_tensors": "total",
        "pre_fused_tensors": "acc",
        "ds_fused_tensors": "ds",
    }
    found = {}
    for node in model.graph.node:
        op = as_op(node)
        for attribute, kind in kinds.items():
            if attribute in op.get_nodeattr_types():
                for tensor, map_ in fused_tensors(op, attribute).items():
                    found[tensor] = (node.name, kind, map_)
    return found


def arrange_probe(values: np.ndarray, record: ProjectProbe) -> np.ndarray:
    """Probed values [N, count] -> [N, H, W, C].

    The record order is output row, column group, channel group, then lane and channel within the
    token, entries beyond the picture or the channels left out (docs/architecture.md, section 3).
    """
    _, height, width, channels = record.shape
    lanes, ch_par = record.lanes, record.ch_par
    places = [
        (row * width + first + lane) * channels + group + offset
        for row in range(height)
        for first in range(0, width, lanes)
        for group in range(0, channels, ch_par)
        for lane in range(min(lanes, width - first))
        for offset in range(min(ch_par, channels - group))
    ]
    out = np.empty_like(values)
    out[:, places] = values
    return out.reshape(len(values), height, width, channels)
