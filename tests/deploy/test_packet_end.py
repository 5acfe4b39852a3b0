"""The RTL that lets one DMA transfer take a batch of frames, in an open simulator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import finn_resnet.deploy

HERE = Path(__file__).parent
MODULE = Path(finn_resnet.deploy.__file__).parent / "templates" / "packet_end.v"


def simulate(module: Path, folder: Path, seed: int) -> str:
    if shutil.which("iverilog") is None:
        pytest.skip("no iverilog (Debian package iverilog)")
    target = folder / "test.vvp"
    sources = [str(module), str(HERE / "packet_end_test.v")]
    subprocess.run(["iverilog", "-g2005", "-o", str(target), *sources], check=True)
    done = subprocess.run(
        ["vvp", str(target), f"+seed={seed}"], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_packet_holds_the_counted_frames(tmp_path, seed):
    assert "packets 200 errors 0" in simulate(MODULE, tmp_path, seed)


def test_a_module_that_counts_one_frame_too_many_is_caught(tmp_path):
    wrong = tmp_path / "packet_end.v"
    source = MODULE.read_text()
    wrong.write_text(source.replace("frames_per_packet - 32'd1", "frames_per_packet"))
    assert wrong.read_text() != source
    assert "errors 0" not in simulate(wrong, tmp_path, 1)
