"""`finn-resnet deploy`: the driver runs where ssh takes it, here a folder that stands for a board.

`ssh` and `scp` are programs that act on that folder; the driver is the real one, and its `pynq` is
the compiled C++ (finn_resnet/deploy/simulated_pynq.py).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from finn_resnet.boards import load_board
from finn_resnet.cli import run
from finn_resnet.deploy.deploy_folder import write_deploy_folder
from finn_resnet.generation.project import generate_project
from tests.conftest import CHECKOUT

PYNQ = """\
from finn_resnet.deploy.simulated_pynq import SimulatedPynq
_device = SimulatedPynq({project!r})
Overlay, allocate = _device.Overlay, _device.allocate
"""
SSH = '#!/bin/sh\n[ "$1" = xilinx@board ] || exit 255\ncd "$BOARD_HOME" && sh -c "$2"\n'
SCP = """#!/bin/sh
shift
while [ $# -gt 1 ]; do set -- "$@" ""; cp -r "$1" "$BOARD_HOME/finn_resnet_deploy/"; shift
  [ "${1#xilinx@board:}" = "$1" ] || exit 0; done
"""


@pytest.fixture
def build(hardware_model, tmp_path, monkeypatch) -> Path:
    """The output folder of a build with a bitstream, and a board beside it."""
    output = tmp_path / "out"
    project = generate_project(hardware_model, output, "small")
    write_deploy_folder(hardware_model, project, load_board("Ultra96"), output, 214.3)
    board, tools = tmp_path / "board", tmp_path / "tools"
    board.mkdir()
    tools.mkdir()
    for name, text in (("ssh", SSH), ("scp", SCP)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pynq.py").write_text(PYNQ.format(project=str(project.directory)))
    monkeypatch.setenv("BOARD_HOME", str(board))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}:{CHECKOUT}")
    return output


def make_bitstream(output: Path) -> None:
    for suffix in (".bit", ".hwh"):
        (output / "deploy" / f"small{suffix}").write_bytes(b"")


def deploy(output: Path, host: str = "xilinx@board") -> int:
    return run(["deploy", str(output), "--host", host, "--python", sys.executable])


def test_the_vectors_run_on_the_board(build, cxx, capfd):
    make_bitstream(build)
    assert deploy(build) == 0
    out = capfd.readouterr().out
    assert "test vectors, 0 codes differ" in out and "frames/s in batches" in out

    vectors = build / "deploy" / "vectors.npz"
    arrays = dict(np.load(vectors))
    arrays["output"] = arrays["output"] ^ 1
    np.savez(vectors, **arrays)
    assert deploy(build) == 1
    assert "differ from the model" in capfd.readouterr().err


def test_what_is_missing_is_named(build, capfd):
    assert deploy(build) == 2
    assert "run `make bitstream`" in capfd.readouterr().err
    make_bitstream(build)
    assert deploy(build, host="xilinx@nowhere") == 2
    assert "check that `ssh xilinx@nowhere` works" in capfd.readouterr().err
    (build / "deploy" / "accelerator.json").unlink()
    assert deploy(build) == 2
    assert "holds no accelerator.json" in capfd.readouterr().err
