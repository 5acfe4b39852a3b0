"""Reading QONNX models: files, Quant parameters, the normal form."""

from finn_resnet.importing.findings import Finding
from finn_resnet.importing.load import load_model, read_model
from finn_resnet.importing.tidy import TidyQonnx

__all__ = ["Finding", "TidyQonnx", "load_model", "read_model"]
