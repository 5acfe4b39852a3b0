"""Run a Python script where FINN finds its Vivado binding without a Vivado.

    python -m finn_resnet.finn.without_vivado SCRIPT [ARGUMENT ...]

FINN refuses to load without the compiled binding to Vivado's simulator, which estimates and C++
need nothing of. Its names get a stand-in that fails when used; nothing else of FINN is touched.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile

from finn_resnet.finn.availability import require_finn

# FINN reads a version number off this path and nothing more, as long as no tool is called.
_NO_VIVADO = "/no_vivado/2024.2"


def _unavailable(*_: object, **__: object) -> None:
    raise RuntimeError("Vivado's simulator was called, but there is no Vivado")


def main(arguments: list[str]) -> None:
    """Run the script named first with the arguments after it.

    Raises:
        UserError: FINN is missing or broken.
    """
    require_finn()
    os.environ.setdefault("XILINX_VIVADO", _NO_VIVADO)
    os.environ.setdefault("FINN_BUILD_DIR", tempfile.mkdtemp(prefix="finn_build_"))
    import finn.xsi

    for name in finn.xsi._LAZY_NAMES:
        setattr(finn.xsi, name, _unavailable)
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
