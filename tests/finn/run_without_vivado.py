"""Run a Python script where FINN finds its Vivado binding without a Vivado.

    python run_without_vivado.py SCRIPT [ARGUMENT ...]

FINN refuses to load without the compiled binding to Vivado's simulator. Its names get a stand-in
that fails when used; nothing else of FINN is touched.
"""

from __future__ import annotations

import runpy
import sys


def unavailable(*_: object, **__: object) -> None:
    raise RuntimeError("Vivado's simulator was called, but there is no Vivado")


if __name__ == "__main__":
    import finn.xsi

    for name in finn.xsi._LAZY_NAMES:
        setattr(finn.xsi, name, unavailable)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
