"""Where a model comes from: a file, or a name for one shipped with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from finn_resnet.config.loader import is_file_name
from finn_resnet.errors import UserError, did_you_mean


def shipped_models() -> dict[str, Path]:
    """Name -> file of every model that comes with the package."""
    folder = Path(str(resources.files("finn_resnet.models")))
    return {file.stem: file for file in sorted(folder.glob("*.onnx"))}


def find_model(model: str) -> Path:
    """File of a model given by path or by the name of a shipped one.

    Raises:
        UserError: neither a file nor a shipped model.
    """
    if is_file_name(model):
        path = Path(model).expanduser()
        if not path.is_file():
            raise UserError(f"model file '{model}' does not exist; give a QONNX file")
        return path
    shipped = shipped_models()
    if model not in shipped:
        raise UserError(
            f"model '{model}' is no shipped model; {did_you_mean(model, shipped)}; a file is given "
            "with its .onnx suffix"
        )
    return shipped[model]
