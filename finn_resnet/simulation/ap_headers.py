"""Where the real ap_int headers lie."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from finn_resnet.errors import UserError

_HEADER = "ap_int.h"
_VITIS_VARIABLES = ("XILINX_HLS", "XILINX_VITIS")


def find_ap_headers() -> Path:
    """Folder that holds ``ap_int.h``: of a Vitis installation, else of the hls4ml package.

    Raises:
        UserError: neither is there.
    """
    candidates = [
        Path(os.environ[name]) / "include" for name in _VITIS_VARIABLES if os.environ.get(name)
    ]
    # Found without importing the package, which would load its whole compiler.
    package = importlib.util.find_spec("hls4ml")
    if package is not None and package.origin is not None:
        candidates.append(Path(package.origin).parent / "templates" / "vivado" / "ap_types")
    for folder in candidates:
        if (folder / _HEADER).is_file():
            return folder
    raise UserError(
        "the ap_int headers were not found: install finn_resnet[ap-types], or set XILINX_HLS to a "
        "Vitis HLS installation"
    )
