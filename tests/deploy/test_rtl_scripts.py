"""The RTL back end's scripts under the recorder: the IP, the block design with it, the Makefile."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from finn_resnet.boards import load_board
from finn_resnet.deploy.rtl_scripts import write_rtl_scripts
from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.rtl.rtl_project import generate_rtl_project
from tests.deploy.conftest import CLOCKS
from tests.deploy.recording import record


@pytest.fixture
def folder(hardware_model, board, tmp_path) -> Path:
    """A small network's sources and scripts."""
    output = tmp_path / "build"
    project = generate_project(hardware_model, output, "net", "rtl")
    generate_rtl_project(hardware_model, output, "net")
    write_rtl_scripts(project, board, output, CLOCKS[board.name])
    return output / "rtl"


def test_the_ip_has_the_ports_of_the_hls_ip(folder):
    run = record("vivado", folder / "package_ip.tcl")
    assert run.status == 0, run.errors
    assert run.of("ip") == [["finn_resnet:rtl:net:1.0"]]
    assert (folder / "build" / "ip").is_dir()


def test_the_block_design_takes_it(folder):
    run = record("vivado", folder / "vivado.tcl", core="finn_resnet:rtl:net:1.0")
    assert run.status == 0, run.errors
    links = {frozenset(link) for link in run.of("link")}
    assert frozenset(("dma_input/M_AXIS_MM2S", "accelerator/input_r")) in links
    assert {path.name for path in (folder.parent / "deploy").iterdir()} == {"net.bit", "net.hwh"}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("fifo_srl.sv", "fifo_slr.sv", "does not exist"),
        ("add_files -norecurse $here/counter.sv", "#", "no source has module 'counter'"),
        ("-busif output", "-busif outputs", "no interface 'outputs'"),
        ("ipx::associate_bus_interfaces -busif output", "#", "'output' has no clock"),
        ("-reset ap_rst_n", "", "no reset"),
        ("ipx::check_integrity $core\n", "", "not checked"),
        ("set_property version", "# ", "no version"),
    ],
)
def test_a_wrong_packaging_script_is_caught(folder, old, new, complaint):
    script = folder / "package_ip.tcl"
    assert old in script.read_text()
    script.write_text(script.read_text().replace(old, new))
    run = record("vivado", script)
    assert run.status != 0 and complaint in run.errors


def test_make_says_what_it_can_do_and_what_is_missing(folder):
    def make(target: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PATH": "/usr/bin:/bin"}
        command = ["make", target]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    assert "make bitstream" in make("help").stdout
    found = make("ip")
    assert found.returncode != 0 and "vivado is not on the PATH" in found.stderr


def test_every_source_is_listed(folder):
    listed = set((folder / "sources.f").read_text().split())
    assert listed == {path.name for path in folder.glob("*.sv")}
    text = (folder / "package_ip.tcl").read_text()
    assert all(f"$here/{path.name}" in text for path in folder.glob("*.mem"))


def test_a_clock_that_is_none_is_refused(hardware_model, tmp_path):
    project = generate_project(hardware_model, tmp_path, "net", "rtl")
    generate_rtl_project(hardware_model, tmp_path, "net")
    with pytest.raises(UserError, match="positive number of MHz"):
        write_rtl_scripts(project, load_board("KV260"), tmp_path, 0.0)
    assert not (tmp_path / "rtl" / "Makefile").exists()


def test_a_board_without_a_processing_system_gets_an_ip(hardware_model, tmp_path):
    project = generate_project(hardware_model, tmp_path, "net", "rtl")
    generate_rtl_project(hardware_model, tmp_path, "net")
    board = replace(load_board("KV260"), processing_system={})
    names = {path.name for path in write_rtl_scripts(project, board, tmp_path, 250.0)}
    assert "package_ip.tcl" in names and "vivado.tcl" not in names
