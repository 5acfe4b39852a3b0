"""The block design script under the recorder: complete, consistent, and wrong ones are caught."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from finn_resnet.boards import Board, load_board
from finn_resnet.deploy.scripts import write_scripts
from finn_resnet.errors import UserError
from tests.deploy.conftest import CLOCKS
from tests.deploy.recording import record


@pytest.fixture
def script(hardware_model, project, board, tmp_path) -> Path:
    write_scripts(hardware_model, project, board, tmp_path / "build", CLOCKS[board.name])
    return project.directory / "vivado.tcl"


def test_the_design_passes_every_rule(script, board, tmp_path):
    run = record("vivado", script)
    assert run.status == 0, run.errors
    assert run.of("part") == [[board.part]]
    links = {frozenset(link) for link in run.of("link")}
    assert frozenset(("dma_input/M_AXIS_MM2S", "accelerator/input_r")) in links
    assert frozenset(("packet_end_output/m_axis", "dma_output/S_AXIS_S2MM")) in links
    properties = {(name, key): value for name, key, value in run.of("property")}
    frequency = properties["cell:ps", "CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ"]
    assert float(frequency) == CLOCKS[board.name]
    registers = [int(row[2], 16) for row in run.of("address") if row[0] == "ps/Data"]
    assert registers == [0xA0000000, 0xA0010000, 0xA0020000]
    deploy = tmp_path / "build" / "deploy"
    assert {path.name for path in deploy.iterdir()} == {"small.bit", "small.hwh"}


def test_the_newest_board_files_are_taken(hardware_model, project, tmp_path):
    write_scripts(hardware_model, project, load_board("KV260"), tmp_path / "build", 250.0)
    run = record("vivado", project.directory / "vivado.tcl")
    chosen = {row[1]: row[2] for row in run.of("property") if row[0].startswith("project:")}
    assert chosen["board_part"] == "xilinx.com:kv260_som:part0:1.10"
    assert "kv260_carrier:som240_1_connector" in chosen["board_connections"]


def drop(line: str):
    """Removes the lines that hold ``line``."""
    return lambda text: "".join(x for x in text.splitlines(True) if line not in x)


def swap(old: str, new: str):
    """Replaces the first ``old``."""

    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (drop("intf dma_input/M_AXIS_MM2S"), "dma_input/M_AXIS_MM2S is connected 0 times"),
        (drop("intf packet_end_output/m_axis"), "dma_output/S_AXIS_S2MM is connected 0 times"),
        (drop("intf memory/S01_AXI"), "dma_output/M_AXI_S2MM is connected 0 times"),
        (swap("[pin accelerator/ap_clk]", ""), "clock pin accelerator/ap_clk is not driven"),
        (drop("[pin packet_end_output/aclk]"), "packet_end_output/aclk is not driven"),
        (drop("[pin dma_output/axi_resetn]"), "reset pin dma_output/axi_resetn is not driven"),
        (drop("gpio_io_o"), "data pin packet_end_output/frames_per_packet is not driven"),
        (swap("dma_input/m_axi_mm2s_aclk", "dma_input/m_axi_mm2s_clk"), "has no pin"),
        (swap("[core_stream output]", "[core_stream result]"), "no stream 'result'"),
        (swap("connect_bd_net [pin ps", "connect_bd_nets [pin ps"), "invalid command name"),
        (swap("validate_bd_design", "validate_design"), "invalid command name"),
        (swap("c_include_sg {0}", "c_include_sgg {0}"), "has no property"),
        (swap("c_mm2s_burst_size {16}", "c_mm2s_burst_size {17}"), "is illegal"),
        (swap("c_m_axi_mm2s_data_width {128}", "c_m_axi_mm2s_data_width {64}"), "does not fit"),
        (swap("c_m_axis_mm2s_tdata_width {128}", "c_m_axis_mm2s_tdata_width {64}"), "bits wide"),
        (swap("-offset 0xA0010000", "-offset 0xA0000000"), "overlap in ps/Data"),
        (swap("-offset 0xA0010000", "-offset 0xA0018000"), "not aligned"),
        (swap("-range 0x10000", "-rnge 0x10000"), "unknown option -rnge"),
        (swap("xilinx.com:ip:proc_sys_reset", "xilinx.com:ip:sys_reset"), "is unknown"),
        (swap("intf control/M01_AXI", "intf control/M00_AXI"), "control/M00_AXI is connected 2"),
        (
            swap("reset/peripheral_aresetn] \\", "ps/pl_clk0] \\"),
            "ps/pl_clk0 drives control/aresetn, which is a reset pin",
        ),
    ],
)
def test_a_wrong_script_is_caught(hardware_model, project, tmp_path, edit, complaint):
    write_scripts(hardware_model, project, load_board("KV260"), tmp_path / "build", 250.0)
    script = project.directory / "vivado.tcl"
    changed = edit(script.read_text())
    assert changed != script.read_text()
    script.write_text(changed)
    run = record("vivado", script)
    assert run.status != 0
    assert complaint in run.errors


def test_a_design_that_misses_timing_is_no_bitstream(script, tmp_path):
    run = record("vivado", script, slack="-0.031")
    assert run.status != 0 and "timing is not met (setup slack -0.031 ns" in run.errors
    assert not (tmp_path / "build" / "deploy").exists()


def test_missing_board_files_are_named(script, board):
    run = record("vivado", script, board_parts=("xilinx.com:zcu104:part0:1.1",))
    assert run.status != 0
    assert f"board files of {board.board_part} are not installed" in run.errors


def board_file(folder: Path, change) -> Board:
    """The KV260's description, changed, as a board of its own."""
    source = Path(load_board.__code__.co_filename).parent / "kv260.json"
    data = json.loads(source.read_text())
    change(data)
    path = folder / "own.json"
    path.write_text(json.dumps(data))
    return load_board(path)


def test_a_board_is_added_by_its_file_alone(hardware_model, project, tmp_path):
    def other(data):
        data["name"], data["part"] = "Own", "xczu7ev-ffvc1156-2-e"
        data["board_part"] = "xilinx.com:zcu104:part0"
        system = data["processing_system"]
        del system["board_connections"], system["properties"]["PSU__USE__S_AXI_GP2"]
        system["properties"].update(PSU__USE__S_AXI_GP3=1)
        system["memory"].update(
            pin="S_AXI_HP1_FPD", clock_pin="saxihp1_fpd_aclk", segment="SAXIGP3/HP1_DDR_LOW"
        )

    board = board_file(tmp_path, other)
    write_scripts(hardware_model, project, board, tmp_path / "build", 300.0)
    run = record(
        "vivado",
        project.directory / "vivado.tcl",
        board_parts=("xilinx.com:zcu104:part0:1.1",),
    )
    assert run.status == 0, run.errors
    assert ["memory/M00_AXI", "ps/S_AXI_HP1_FPD"] in run.of("link")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["processing_system"].pop("ip"), r"'processing_system\.ip' is missing"),
        (lambda d: d["processing_system"].pop("memory"), r"'processing_system\.memory' is missing"),
        (
            lambda d: d["processing_system"]["memory"].update(data_bits=48),
            r"data_bits = 48 does not divide",
        ),
        (
            lambda d: d["processing_system"]["control"].update(base_address="A000"),
            r"lies in the memory range",
        ),
        (
            lambda d: d["processing_system"]["control"].update(base_address="far"),
            r"'far' is no address",
        ),
        (lambda d: d["processing_system"].update(reset_pin=7), r"= 7 must be a str"),
    ],
)
def test_an_unfit_board_file_is_refused(hardware_model, project, tmp_path, change, message):
    board = board_file(tmp_path, change)
    with pytest.raises(UserError, match=message):
        write_scripts(hardware_model, project, board, tmp_path / "build", 250.0)
    assert not (project.directory / "vivado.tcl").exists()


def test_scripts_do_not_name_this_machine(script, tmp_path):
    for path in script.parent.glob("*"):
        if path.is_file() and path.suffix != ".facts":
            assert not re.search(re.escape(str(tmp_path)), path.read_text(errors="replace")), path
