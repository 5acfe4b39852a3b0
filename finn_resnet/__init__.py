"""Quantised residual CNNs (QONNX) to verified streaming FPGA accelerators."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"

# setup.cfg maps the checkout's top-level folders custom_ops/, hls/, rtl/ and build_configs/ below
# this package. In a plain or editable checkout they are siblings of it, so their parent joins the
# package's search path.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "setup.cfg").is_file() and (_checkout / "custom_ops").is_dir():
    __path__.append(str(_checkout))
