"""What of a model does not map to hardware, and why."""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.importing.findings import Finding
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.lowering.boundary import all_findings
from finn_resnet.lowering.operators import interpret


def check_model(model: ModelWrapper) -> list[Finding]:
    """Every reason why ``model`` cannot become hardware; empty when it can.

    The model may be as read from the file; it is not changed.

    Raises:
        UserError: the graph is too broken to look at (dynamic sizes, shapes that do not infer).
    """
    tidy = model.transform(TidyQonnx())
    return all_findings(tidy, interpret(tidy))
