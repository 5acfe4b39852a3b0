"""From QONNX float semantics to integer codes: the reasoning behind `LowerToHardware`."""

from finn_resnet.lowering.check_model import check_model

__all__ = ["check_model"]
