"""FINN is imported only by its own package, and a missing or broken one is named."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from finn_resnet.errors import UserError
from finn_resnet.finn.availability import require_finn
from finn_resnet.finn.steps import ESTIMATE_STEPS, IP_STEPS, step_import


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_our_package_imports_no_finn():
    modules = [
        "finn_resnet.cli",
        "finn_resnet.build",
        "finn_resnet.transformation",
        "finn_resnet.finn",
        "finn_resnet.finn.steps",
    ]
    lines = [f"import {name}" for name in modules]
    code = "\n".join([*lines, "import sys; print(sorted({'finn', 'torch'} & set(sys.modules)))"])
    assert run(code).stdout.strip() == "[]"


@pytest.mark.skipif(find_spec("finn") is not None, reason="FINN is installed")
def test_a_step_without_finn_says_how_to_get_it():
    with pytest.raises(UserError, match=r"FINN is not installed.*finn_resnet\[finn\]"):
        step_import(None, None)


def test_finn_plus_beside_finn_base_is_refused(tmp_path, monkeypatch):
    for name in ("finn_plus", "finn_base"):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        distribution = name.replace("_", "-")
        (folder / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UserError, match="finn-plus and finn-base are both installed"):
        require_finn()


def test_the_ready_made_lists_name_real_steps():
    from finn_resnet.finn import steps

    for name in IP_STEPS:
        module, _, function = name.rpartition(".")
        assert module == steps.__name__
        assert callable(getattr(steps, function))
        assert getattr(steps, function).__name__ == function
    assert IP_STEPS[: len(ESTIMATE_STEPS)] == ESTIMATE_STEPS
