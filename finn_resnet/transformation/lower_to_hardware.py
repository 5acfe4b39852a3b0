"""LowerToHardware: QONNX float graph -> graph of hardware nodes on integer codes."""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.importing.findings import refuse
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.lowering.boundary import add_outputs, all_findings, drop_unread, insert_forks
from finn_resnet.lowering.operators import interpret

REFERENCE_PROPERTY = "finn_resnet_reference"
"""Metadata key: "qonnx" or "contract", whose codes the hardware reproduces (docs/equality.md)."""


class LowerToHardware(Transformation):
    """One hardware node per task: window buffers, parameter tasks, convolutions, pools, forks,
    additions and requantisers, between an input and an output DMA.

    The graph keeps its float input and outputs, so it executes as before, with the same codes. It
    is legal hardware as it stands; every optimisation afterwards is optional.

    Raises:
        UserError: the model holds nodes that cannot become hardware (all of them are named).
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        model = model.transform(TidyQonnx())
        interpreter = interpret(model)
        refuse(all_findings(model, interpreter))
        add_outputs(model, interpreter)
        drop_unread(interpreter.builder, {tensor.name for tensor in model.graph.output})
        insert_forks(interpreter.builder)
        interpreter.builder.install(model)
        model.set_metadata_prop(REFERENCE_PROPERTY, interpreter.reference)
        return model, False
