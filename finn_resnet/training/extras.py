"""Presence check of the optional packages the recipe needs."""

from __future__ import annotations

from importlib.util import find_spec

from finn_resnet.errors import UserError

REQUIRED_MODULES = ("torch", "brevitas", "PIL")


def require_training_extras() -> None:
    """Raises UserError, naming what is missing, unless PyTorch, brevitas and Pillow are there."""
    missing = [name for name in REQUIRED_MODULES if find_spec(name) is None]
    if missing:
        raise UserError(
            f"training needs {', '.join(missing)}: install with pip install 'finn_resnet[train]'"
        )
