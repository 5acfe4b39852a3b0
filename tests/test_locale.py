"""Names in any script, whatever the locale: files are declared UTF-8, terminals may not be."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.qonnx_models import residual_network

CHECKOUT = Path(__file__).resolve().parent.parent
CODE_STEPS = ["step_lower_to_hardware", "step_set_stream_depths", "step_generate"]


def calls_without_encoding(source: str) -> Iterator[int]:
    """Lines that read or write text in whatever encoding the locale has."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = {keyword.arg for keyword in node.keywords}
        modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
        binary = any(isinstance(mode, str) and "b" in mode for mode in modes)
        opens = isinstance(node.func, ast.Name) and name == "open" and not binary
        if (name in ("read_text", "write_text") or opens) and "encoding" not in given:
            yield node.lineno
        as_text = any(
            k.arg == "text" and getattr(k.value, "value", None) is True for k in node.keywords
        )
        if as_text and not given & {"encoding", "errors"}:
            yield node.lineno


def test_every_text_file_names_its_encoding():
    assert list(calls_without_encoding("open('x')\np.read_text()\nrun(c, text=True)")) == [1, 2, 3]
    files = [*CHECKOUT.glob("finn_resnet/**/*.py"), *CHECKOUT.glob("custom_ops/*.py")]
    found = {str(f): list(calls_without_encoding(f.read_text(encoding="utf-8"))) for f in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_terminal_that_is_not_utf8_shows_any_name(tmp_path):
    model = residual_network()
    for node in model.graph.node:
        node.name = f"größe_层_{node.name}"
    model.save(str(tmp_path / "net.onnx"))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C", "PYTHONUTF8": "0"}
    environment["PYTHONCOERCECLOCALE"] = "0"

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "finn_resnet.cli", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)

    checked = run("check", "net.onnx")
    assert checked.returncode == 0, checked.stderr
    assert b"gr\\xf6\\xdfe_\\u5c42_conv" in checked.stdout
    steps = f"steps={CODE_STEPS}".replace("'", '"')
    built = run("build", "net.onnx", "--board", "KV260", "--output-dir", "out", "--set", steps)
    assert built.returncode == 0, built.stderr
    top = (tmp_path / "out" / "hls" / "net.cpp").read_text(encoding="utf-8")
    assert "conv" in top
