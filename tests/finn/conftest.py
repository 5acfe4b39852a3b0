"""A Python with finn-plus, for the tests that run a FINN build."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent.parent
FINN_PYTHON = "FINN_RESNET_FINN_PYTHON"

RunFinn = Callable[..., subprocess.CompletedProcess[str]]


def python_with(distribution: str, variable: str) -> str:
    """The interpreter ``variable`` names, or this one if it has the distribution; else skip."""
    chosen = os.environ.get(variable)
    if chosen:
        return chosen
    try:
        version(distribution)
    except PackageNotFoundError:
        pytest.skip(
            f"no {distribution}: set {variable} to the python of an environment that has it"
        )
    return sys.executable


@pytest.fixture(scope="session")
def finn_python() -> str:
    """Python with finn-plus; skips where there is none."""
    return python_with("finn-plus", FINN_PYTHON)


@pytest.fixture(scope="session")
def run_finn(finn_python: str, tmp_path_factory: pytest.TempPathFactory) -> RunFinn:
    """Run a Python script with FINN, the Vivado binding replaced by one that only fails."""
    folder = tmp_path_factory.mktemp("finn")
    (folder / "build").mkdir()

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        # FINN tells a test run by this variable, and then lets exceptions through.
        inherited = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        settings = {
            "PYTHONPATH": str(CHECKOUT),
            # FINN keeps settings in the home folder.
            "HOME": str(folder),
            "FINN_BUILD_DIR": str(folder / "build"),
            "NUM_DEFAULT_WORKERS": "1",
        }
        return subprocess.run(
            [finn_python, "-m", "finn_resnet.finn.without_vivado", *map(str, arguments)],
            env={**inherited, **settings, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
