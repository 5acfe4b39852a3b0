"""The notebooks of the documentation run from end to end, and say what they are shown to say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="needs nbclient (extra test)")
nbformat = pytest.importorskip("nbformat", reason="needs nbformat (extra test)")
pytest.importorskip("ipykernel", reason="needs ipykernel (extra test)")

CHECKOUT = Path(__file__).resolve().parent.parent
NOTEBOOKS = CHECKOUT / "docs" / "notebooks"


def printed(notebook) -> str:
    """All text of the outputs, errors of the display left out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [o.get("text", "") for o in outputs if o.get("name") != "stderr"]
    results = [o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join([*texts, *results])


def executed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    commands = folder / "commands"
    commands.mkdir()
    command = commands / "finn-resnet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m finn_resnet "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    options = {"timeout": 900, "kernel_name": "python3"}
    nbclient.NotebookClient(
        notebook, resources={"metadata": {"path": str(folder)}}, **options
    ).execute()
    return printed(notebook)


@pytest.mark.slow
def test_the_first_build_says_what_its_page_shows(cxx, tmp_path, monkeypatch):
    text = executed("first_build.ipynb", tmp_path, monkeypatch)
    shown = printed(nbformat.read(NOTEBOOKS / "first_build.ipynb", as_version=4))
    for line in ("0 of 8,", "cycles per frame in the simulation", "array(["):
        assert line in text and line in shown
    assert (tmp_path / "first_build" / "report.html").is_file()


def test_an_own_network_is_checked_and_built(cxx, tmp_path, monkeypatch):
    text = executed("own_network.ipynb", tmp_path, monkeypatch)
    assert "every node maps to hardware" in text
    assert "BuildResult('own_build'" in text
    assert (tmp_path / "own_build" / "report.json").is_file()
