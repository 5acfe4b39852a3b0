"""The folder of results that are kept from one run to the next: compiled simulations, searches."""

from __future__ import annotations

import os
from pathlib import Path

from finn_resnet.errors import UserError

CACHE_VARIABLE = "FINN_RESNET_CACHE_DIR"


def cache_folder() -> Path:
    """Kept results: ``$FINN_RESNET_CACHE_DIR``, else ``finn_resnet`` in the user's cache folder.

    Raises:
        UserError: it cannot be created.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(chosen) if chosen else base / "finn_resnet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UserError(
            f"cache folder '{folder}' cannot be created: {fault.strerror}; set {CACHE_VARIABLE} to "
            "a folder you may write"
        ) from fault
    return folder
