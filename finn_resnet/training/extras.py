"""Presence check of the optional packages the recipe needs."""

from __future__ import annotations

from importlib.util import find_spec

from finn_resnet.errors import UserError

REQUIRED_PACKAGES = {
    "torch": "torch",
    "brevitas": "brevitas",
    "onnxoptimizer": "onnxoptimizer",
    "pillow": "PIL",
}
"""Package of the extra `train` -> module it is imported as."""


def require_training_extras() -> None:
    """Raises UserError, naming what is missing, unless every package of the extra is there."""
    missing = [name for name, module in REQUIRED_PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UserError(
            f"training needs {', '.join(missing)}: install with pip install 'finn_resnet[train]'"
        )
