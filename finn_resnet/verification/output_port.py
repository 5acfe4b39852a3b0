"""What leaves the accelerator, read as its driver reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.deploy.deploy_folder import driver_stream
from finn_resnet.deploy.driver import Stream
from finn_resnet.generation.project_file import Project, ProjectPort
from finn_resnet.generation.task_code import BEAT_BYTES
from finn_resnet.simulation.runner import SimulatedCodes
from finn_resnet.transformation.graph_edit import as_op, nodes_of


@dataclass(frozen=True)
class OutputPort:
    """Graph output ``output`` leaves through ``port``, written by task ``node``.

    ``host`` makes float values of its codes.
    """

    output: str
    node: str
    port: ProjectPort
    host: HardwareOp

    def codes(self, run: SimulatedCodes) -> np.ndarray:
        """Codes [N, H, W, C] (int64) of a run's bytes, through the driver's own unpacking."""
        written = np.ascontiguousarray(run.outputs[self.port.name])
        stream = Stream(driver_stream(self.port), BEAT_BYTES)
        # The simulation has checked the padding of the last beat and taken it off.
        rows = np.zeros((len(written), stream.padded_bytes), np.uint8)
        rows[:, : stream.frame_bytes] = written.reshape(len(written), -1).view(np.uint8)
        return stream.unpack(rows).astype(np.int64)

    def values(self, codes: np.ndarray) -> np.ndarray:
        """float32 values of codes [N, H, W, C], channels first."""
        return self.host.dequantise(codes)


def output_ports(model: ModelWrapper, project: Project) -> list[OutputPort]:
    """The ports of a project, in the order of the graph's outputs.

    Args:
        model: the hardware graph the project was generated from.
        project: its description.
    """
    ports = {port.tensor: port for port in project.outputs}
    hosts = {node.output[0]: node for node in nodes_of(model, "DequantizeOutput")}
    found = []
    for tensor in model.graph.output:
        host = hosts[tensor.name]
        memory = host.input[0]
        writer = model.find_producer(memory).name
        found.append(OutputPort(tensor.name, writer, ports[memory], as_op(host)))
    return found
