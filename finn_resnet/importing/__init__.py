"""Reading QONNX models: files, Quant parameters, the normal form, the support check."""

from finn_resnet.importing.findings import Finding
from finn_resnet.importing.load import load_model, read_model
from finn_resnet.importing.tidy import TidyQonnx

__all__ = ["Finding", "TidyQonnx", "check_model", "load_model", "read_model"]


def __getattr__(name: str) -> object:
    # The check shares its code with the lowering, a later room: import it only when asked for.
    if name == "check_model":
        from finn_resnet.transformation.lower_to_hardware import check_model

        return check_model
    raise AttributeError(name)
