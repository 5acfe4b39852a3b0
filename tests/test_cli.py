"""The command line: what a user sees, on good input and on every kind of bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from finn_resnet.boards import known_boards, load_board
from finn_resnet.cli import cli, run
from finn_resnet.config import BuildConfig, json_schema
from finn_resnet.errors import UserError
from tests.qonnx_models import ModelBuilder, residual_network

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture
def model(tmp_path) -> str:
    """A small network as a file."""
    path = tmp_path / "net.onnx"
    residual_network().save(str(path))
    return str(path)


def refused(capsys, *arguments: str) -> str:
    """Run a command that must be refused in one line with exit code 2; return the line."""
    code = run(list(arguments))
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1, err
    return err


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        [sys.executable, "-m", "finn_resnet.cli", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_help_explains_and_imports_nothing_heavy(tmp_path):
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0 and "First steps" in done.stdout
    program = (
        "import sys; from finn_resnet.cli import run; code = run(['build', '--help']); "
        "heavy = {'onnx', 'qonnx', 'numpy', 'scipy', 'rich'} & set(sys.modules); "
        "sys.exit(f'imports {heavy}' if heavy else code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--target-fps" in done.stdout


def test_a_refusal_is_one_line_and_exit_code_2(tmp_path):
    done = command("build", "nothing.onnx", "--board", "KV260", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: model file 'nothing.onnx' does not exist; give a QONNX file\n"
    assert list(tmp_path.iterdir()) == []


def test_boards_and_configs_are_listed(capsys):
    assert run(["boards"]) == 0
    out = capsys.readouterr().out
    assert "KV260_SOM" in out and "Ultra96-V2" in out and "1,248" in out
    assert run(["configs"]) == 0
    assert "resnet8_kv260_paper" in capsys.readouterr().out


def test_the_config_schema_is_json(capsys):
    assert run(["config-reference"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(json_schema()))


def test_check_maps_every_node(capsys, model):
    assert run(["check", model]) == 0
    out = capsys.readouterr().out
    assert out.count("StreamConv") == 7
    assert out.count("StreamAdd") == 2
    assert "every node maps to hardware" in out


def test_check_lists_every_problem_at_once(capsys, tmp_path):
    net = ModelBuilder(seed=2)
    x = net.quant("image", -7)
    x = net.quant(net.node("Erf", [x]), -7)
    x = net.quant(net.node("Mul", [x, x]), -7)
    x = net.quant(net.node("Erf", [net.conv(x, 4, 4, 3)]), -5)
    x = net.quant(x, -5, bits=20)
    path = tmp_path / "net.onnx"
    net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]).save(str(path))
    assert run(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    problems = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(problems) == 3
    for word in ("2 Erf nodes", "Mul", "bit width = 20"):
        assert any(word in line for line in problems), problems


def test_an_internal_fault_is_one_line_with_its_trace_in_a_file(capsys, monkeypatch, tmp_path):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr("finn_resnet.lowering.interpreter.Interpreter._visit", broken)
    path = tmp_path / "net.onnx"
    net = ModelBuilder(seed=2)
    net.model(net.quant("image", -7), [1, 4, 8, 8], [1, 4, 8, 8]).save(str(path))
    assert run(["check", str(path)]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert "quant0 (Quant): ZeroDivisionError: nothing to divide by" in line
    trace = Path(line.split("the trace is in ")[1].split(",")[0])
    assert "Traceback" in trace.read_text(encoding="utf-8")
    trace.unlink()


def float_model() -> onnx.ModelProto:
    weights = onnx.numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=[3, 3])],
        "float",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])],
        [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def zero_point_model() -> onnx.ModelProto:
    net = ModelBuilder(seed=3)
    x = net.quant("image", -7)
    x = net.quant(net.conv(x, 3, 4, 3), -5, zero_point=2.5)
    return net.model(x, [1, 3, 8, 8], [1, 4, 8, 8]).model


def dynamic_size_model() -> onnx.ModelProto:
    net = ModelBuilder(seed=3)
    x = net.quant("image", -7)
    x = net.quant(net.conv(x, 3, 4, 3), -5)
    return net.model(x, [1, 3, "height", "width"], [1, 4, "height", "width"]).model


def unknown_operator_model() -> onnx.ModelProto:
    net = ModelBuilder(seed=3)
    x = net.quant("image", -7)
    x = net.quant(net.node("LayerNormalization", [x, net.constant([1.0] * 8)]), -5)
    return net.model(x, [1, 3, 8, 8], [1, 3, 8, 8]).model


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (float_model, "Quant"),
        (zero_point_model, "zero"),
        (dynamic_size_model, "dynamic"),
        (unknown_operator_model, "LayerNormalization"),
    ],
)
@pytest.mark.parametrize("name", ["check", "build"])
def test_models_that_cannot_be_built(capsys, tmp_path, monkeypatch, make, word, name):
    monkeypatch.chdir(tmp_path)
    onnx.save(make(), "bad.onnx")
    arguments = [name, "bad.onnx"] + (["--board", "KV260"] if name == "build" else [])
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert word.lower() in err.splitlines()[0].lower(), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.onnx"]


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x07" * 50])
@pytest.mark.parametrize("name", ["check", "build"])
def test_corrupt_files_are_refused(capsys, tmp_path, content, name):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    board = ["--board", "KV260"] if name == "build" else []
    assert "bad.onnx" in refused(capsys, name, str(path), *board)


def test_a_bare_call_is_help(tmp_path):
    program = [sys.executable, "-m", "finn_resnet"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "Exit codes" in done.stdout and "explore" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["boards"], ["models"], ["configs"], ["config-reference"], ["check", "resnet8"]]
)
def test_every_listing_prints_json_or_nothing(capsys, arguments):
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run([*arguments, "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_every_command_takes_json_quiet_and_verbose():
    for name, command in cli.commands.items():
        options = {option for param in command.params for option in param.opts}
        assert {"--json", "-q", "-v"} <= options, name


def test_check_gives_its_findings_as_json(capsys, tmp_path):
    net = ModelBuilder(seed=2)
    x = net.quant(net.node("Erf", [net.quant("image", -7)]), -7)
    net.model(x, [1, 4, 8, 8], [1, 4, 8, 8]).save(str(tmp_path / "net.onnx"))
    assert run(["check", str(tmp_path / "net.onnx"), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert len(found["findings"]) == 1 and "Erf" in found["findings"][0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_and_what_they_ask_for(capsys, shell):
    assert run(["completion", shell]) == 0
    assert "finn-resnet" in capsys.readouterr().out
    words = {"COMP_WORDS": "finn-resnet expl", "COMP_CWORD": "1"}
    environment = {**os.environ, **words, "PYTHONPATH": str(CHECKOUT)}
    environment["_FINN_RESNET_COMPLETE"] = "bash_complete"
    command = [sys.executable, "-m", "finn_resnet"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "plain,explore"


def test_a_misspelt_key_is_answered_alike_everywhere(capsys, tmp_path, model):
    (tmp_path / "c.json").write_text('{"model": "resnet8", "board": "KV260", "mde": "full"}')
    found = [
        refused(capsys, "build", model, "--board", "KV260", "--set", "mde=full"),
        refused(capsys, "build", str(tmp_path / "c.json")),
        refused(capsys, "build", "resnet8_kv260", "--set", "mde=full"),
    ]
    with pytest.raises(UserError) as direct:
        BuildConfig("resnet8", "KV260", mde="full")
    for text in (*found, str(direct.value)):
        assert "unknown key 'mde'; did you mean 'mode'?" in text


def test_a_board_of_ones_own_starts_from_a_template(capsys, tmp_path):
    for name in known_boards():
        assert run(["boards", "--template", name]) == 0
        (tmp_path / "mine.json").write_text(capsys.readouterr().out)
        assert load_board(str(tmp_path / "mine.json")) == load_board(name)


def test_the_page_of_boards_is_up_to_date(capsys):
    assert run(["boards", "--markdown"]) == 0
    page = (CHECKOUT / "docs" / "boards.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out == page
