"""Vitis HLS scripts of both front ends, the Makefile and the vendor test bench."""

from __future__ import annotations

import configparser
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from finn_resnet.boards import load_board
from finn_resnet.deploy.scripts import write_scripts
from finn_resnet.errors import UserError
from finn_resnet.simulation.ap_headers import find_ap_headers
from tests.deploy.conftest import CLOCKS
from tests.deploy.recording import record

STEPS = ("csim", "hls", "cosim", "ip")

# Keys of the unified front end (UG1399, HLS config file commands).
CONFIG_KEYS = {
    "flow_target",
    "clock",
    "syn.top",
    "syn.file",
    "syn.cflags",
    "tb.file",
    "tb.cflags",
    "package.output.format",
    "package.output.syn",
    "package.ip.vendor",
    "package.ip.library",
    "package.ip.name",
    "package.ip.version",
}


@pytest.fixture
def folder(hardware_model, project, board, tmp_path) -> Path:
    write_scripts(hardware_model, project, board, tmp_path / "build", CLOCKS[board.name])
    return project.directory


@pytest.fixture
def kv260(hardware_model, project, tmp_path) -> Path:
    write_scripts(hardware_model, project, load_board("KV260"), tmp_path / "build", 250.0)
    return project.directory


def test_every_step_of_the_tcl_front_end_runs(folder, board):
    for step in ("hls", "csim", "cosim", "ip"):
        run = record("vitis_hls", folder / "hls.tcl", HLS_STEP=step)
        assert run.status == 0, run.errors
        assert run.of("step") == [[step]]
        assert run.of("part") == [[board.part]]
        assert float(run.of("period")[0][0]) == pytest.approx(1000 / CLOCKS[board.name], abs=1e-4)
        assert run.of("vlnv") == [["finn_resnet:hls:small:1.0"]]
    assert (folder / "build" / "ip").is_dir()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("csynth_design", "csynth", "invalid command name"),
        ("-flow_target vivado", "-flow vivado", "unknown option -flow"),
        ("small.cpp", "smal.cpp", "does not exist"),
        ("vectors/input.bin", "vectors/in.bin", "does not exist"),
        ("close_project\n", "", "still open"),
        ("create_clock -period 4.0000", "create_clock -period 4ns", "period '4ns'"),
        ("set_part", "#", "no part is set"),
    ],
)
def test_a_wrong_tcl_script_is_caught(kv260, old, new, complaint):
    script = kv260 / "hls.tcl"
    assert old in script.read_text()
    script.write_text(script.read_text().replace(old, new))
    run = record("vitis_hls", script, HLS_STEP="hls")
    assert run.status != 0 and complaint in run.errors


def test_steps_out_of_order_are_caught(kv260):
    run = record("vitis_hls", kv260 / "hls.tcl", HLS_STEP="cosim")
    assert run.status != 0 and "not synthesised" in run.errors


def test_an_unknown_step_is_refused(kv260):
    run = record("vitis_hls", kv260 / "hls.tcl", HLS_STEP="all")
    assert run.status != 0 and "HLS_STEP = 'all' is unknown" in run.errors


def make(folder: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess:
    environment = {**os.environ}
    if path is not None:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def config_lines(folder: Path) -> list[tuple[str, str]]:
    """Keys and values of the configuration, its part line first."""
    assert make(folder, "build/hls_config.cfg").returncode == 0
    text = (folder / "build" / "hls_config.cfg").read_text()
    parser = configparser.ConfigParser(strict=False)
    parser.read_string(f"[general]\n{text}")
    assert parser.sections() == ["general", "hls"]
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    return [tuple(line.split("=", 1)) for line in lines]


def test_the_unified_configuration_holds_known_keys_and_real_files(folder, board):
    (part, value), *lines = config_lines(folder)
    assert (part, value) == ("part", board.part)
    assert {key for key, _ in lines} == CONFIG_KEYS
    files = [Path(value) for key, value in lines if key.endswith(".file")]
    assert all(path.is_file() for path in files)
    assert {path.name for path in files} == {
        "small.cpp",
        "vector_testbench.cpp",
        "input.bin",
        "output.bin",
    }


@pytest.mark.parametrize(
    ("flow", "program"), [("unified", "vitis-run --mode hls"), ("classic", "vitis_hls -f hls.tcl")]
)
def test_make_runs_the_steps_in_order(kv260, flow, program):
    done = make(kv260, "-n", *STEPS, "bitstream", f"HLS_FLOW={flow}")
    assert done.returncode == 0, done.stderr
    commands = done.stdout.splitlines()
    marks = [commands.index(f"touch build/{step}.done") for step in STEPS]
    vivado = next(i for i, line in enumerate(commands) if line.startswith("vivado "))
    assert marks[1] < marks[2] and marks[1] < marks[3] < vivado
    assert sum(program in line for line in commands) >= 3
    checks = [line for line in commands if line.startswith("sh check_tools.sh")]
    assert checks == [f"sh check_tools.sh {flow}", "sh check_tools.sh vivado"]


def test_make_alone_is_help(kv260):
    done = make(kv260)
    assert done.returncode == 0 and done.stderr == ""
    for target in (*STEPS, "bitstream", "clean"):
        assert f"make {target}" in done.stdout
    assert "Vitis 2023.2" in done.stdout


def test_without_a_processing_system_make_goes_as_far_as_ip(hardware_model, project, tmp_path):
    board = replace(load_board("KV260"), processing_system={})
    write_scripts(hardware_model, project, board, tmp_path / "build", 250.0)
    folder = project.directory
    assert not (folder / "vivado.tcl").exists() and "make bitstream" not in make(folder).stdout
    assert "touch build/ip.done" in make(folder, "-n", "ip", "HLS_FLOW=classic").stdout
    refused = make(folder, "bitstream")
    assert refused.returncode == 2 and "describes no processing_system: make ip" in refused.stderr


def test_make_clean_removes_what_make_writes(kv260):
    assert make(kv260, "build/hls_config.cfg").returncode == 0
    assert make(kv260, "clean").returncode == 0
    assert not (kv260 / "build").exists() and (kv260 / "small.cpp").exists()


def test_an_unknown_flow_is_refused(kv260):
    done = make(kv260, "hls", "HLS_FLOW=quartus")
    assert done.returncode == 2 and "HLS_FLOW = 'quartus' is unknown" in done.stderr


def tool(folder: Path, name: str, banner: str) -> None:
    """A program that only tells a version."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{banner}'\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("flow", "tools", "message"),
    [
        ("classic", {}, "vitis_hls is not on the PATH, 2022.2 or newer"),
        ("unified", {}, "v++ is not on the PATH, 2023.2 or newer"),
        ("vivado", {}, "vivado is not on the PATH, 2022.2 or newer"),
        ("classic", {"vitis_hls": "Vitis HLS v2020.1 (64-bit)"}, "vitis_hls is version 2020.1"),
        ("unified", {"v++": "****** v++ v2022.2 (64-bit)"}, "v++ is version 2022.2, 2023.2"),
        ("unified", {"v++": "****** v++ v2023.2 (64-bit)"}, "vitis-run is not on the PATH"),
        ("vivado", {"vivado": "no banner"}, "vivado does not tell its version"),
    ],
)
def test_missing_and_old_tools_are_one_line(kv260, tmp_path, flow, tools, message):
    path = tmp_path / "bin"
    path.mkdir()
    for name, banner in tools.items():
        tool(path, name, banner)
    target = "check_vivado" if flow == "vivado" else "check_hls"
    done = make(kv260, target, f"HLS_FLOW={'classic' if flow == 'vivado' else flow}", path=path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1 and lines[0].startswith("error: ") and message in lines[0]


@pytest.mark.parametrize(
    ("target", "flow", "tools"),
    [
        ("check_hls", "classic", {"vitis_hls": "Vitis HLS v2024.1 (64-bit)"}),
        ("check_hls", "unified", {"v++": "****** v++ v2024.2 (64-bit)", "vitis-run": "x"}),
        ("check_vivado", "classic", {"vivado": "Vivado v2022.2 (64-bit)"}),
    ],
)
def test_new_enough_tools_pass(kv260, tmp_path, target, flow, tools):
    for name, banner in tools.items():
        tool(tmp_path / "bin", name, banner)
    done = make(kv260, target, f"HLS_FLOW={flow}", path=tmp_path / "bin")
    assert done.returncode == 0, done.stderr


AXI_HEADER = """#pragma once
#include <ap_int.h>
template <int D, int U, int TI, int TD>
struct ap_axiu {
  ap_uint<D> data;
  ap_uint<D / 8> keep;
  ap_uint<D / 8> strb;
  ap_uint<1> last;
};
"""


def vector_test(cxx: str, folder: Path, *flags: str) -> subprocess.CompletedProcess:
    """Compile the vendor test bench and run it as the tools do: data files beside it."""
    place = folder / "vector_test"
    place.mkdir(exist_ok=True)
    for path in (folder / "vectors").iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    command = [cxx, "-std=c++17", "-O1", "-Wno-unknown-pragmas", *flags]
    command += [f"-I{folder}", f"-I{folder / 'include'}"]
    sources = [str(folder / "small.cpp"), str(folder / "vector_testbench.cpp")]
    built = subprocess.run(
        [*command, *sources, "-o", str(place / "test")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[:2000]
    return subprocess.run(
        [str(place / "test")], cwd=place, capture_output=True, text=True, check=False
    )


def test_the_vendor_test_bench_passes_and_can_fail(kv260, cxx):
    assert vector_test(cxx, kv260, "-Wall", "-Wextra", "-Werror").returncode == 0
    vectors = kv260 / "vectors" / "output.bin"
    codes = bytearray(vectors.read_bytes())
    codes[-1] ^= 1
    vectors.write_bytes(codes)
    failed = vector_test(cxx, kv260)
    assert failed.returncode == 1
    assert "output.bin, frame 2, byte 4: the code differs" in failed.stdout


def test_the_vendor_test_bench_works_with_the_vendors_types(kv260, cxx, tmp_path):
    try:
        headers = find_ap_headers()
    except UserError:
        pytest.skip("no ap_int headers (extra ap-types)")
    (tmp_path / "axi").mkdir()
    (tmp_path / "axi" / "ap_axi_sdata.h").write_text(AXI_HEADER)
    flags = ["-DFR_VENDOR", f"-isystem{tmp_path / 'axi'}", f"-isystem{headers}"]
    done = vector_test(cxx, kv260, *flags)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("clock", [0.0, -1.0, float("nan"), float("inf")])
def test_a_clock_that_is_none_is_refused(hardware_model, project, tmp_path, clock):
    with pytest.raises(UserError, match="must be a positive number of MHz"):
        write_scripts(hardware_model, project, load_board("KV260"), tmp_path / "build", clock)
