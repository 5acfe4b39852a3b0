"""The documentation: every public name is described, and no link of the site is broken."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def test_every_public_name_is_described():
    command = [sys.executable, str(CHECKOUT / ".ci" / "api_reference.py")]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "### LowerToHardware" in done.stdout and "### build\n" in done.stdout
    assert "\n\n\n```" not in done.stdout, "a name without a docstring"


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="no mkdocs (extra docs)")
def test_the_site_is_built_strictly(tmp_path):
    site = tmp_path / "site"
    command = ["bash", str(CHECKOUT / ".ci" / "build_docs"), str(site), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (site / "usage" / "index.html").is_file() and (site / "api").is_dir()
    assert (site / "contributing").is_dir()
