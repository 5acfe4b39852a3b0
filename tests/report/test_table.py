"""The terminal tables show every figure of the report, and say what was not run."""

from __future__ import annotations

import copy
import io
import json

import pytest
from rich.console import Console

from finn_resnet.report import SECTIONS
from finn_resnet.report.compare import compare_reports, comparison_table
from finn_resnet.report.table import grouped_layers, print_report

REPORT = {
    "model": {"path": "net.onnx", "sha256": "0" * 64, "macs": 12_345_678, "params": 77_000},
    "board": {
        "name": "KV260",
        "part": "xck26",
        "clock_mhz": 250.0,
        "budget": {"dsp": 1000, "lut": 100_000, "ff": 200_000, "bram36": 144, "uram": 0},
    },
    "backend": "hls",
    "rtl_simulation": None,
    "layers": [
        {
            "name": "conv1",
            "op": "StreamConv",
            "och_par": 3,
            "ich_par": 1,
            "ow_par": 2,
            "mac_style": "dsp",
            "products_per_dsp": 2,
            "mem_style": "bram",
            "cycles": 8192,
            "dsp": 54,
            "lut": 1234.5,
            "ff": 2000,
            "bram36": 4.5,
            "uram": 0,
        }
    ],
    "totals": {
        "dsp": 54,
        "lut": 1234.5,
        "ff": 2000,
        "bram36": 4.5,
        "uram": 0,
        "skip_buffer_bits": 4321,
        "window_buffer_bits": 8765,
    },
    "throughput": {
        "cycles_per_frame": 8192,
        "fps": 30517.6,
        "bottleneck": "conv1",
        "latency_cycles": 20_000,
    },
    "simulation": {
        "frames": 4,
        "cycles_per_frame": 8200,
        "fps": 30487.8,
        "latency_cycles": 21_111,
        "is_steady": True,
        "bottleneck": "conv1",
        "deadlock": None,
        "interrupted": False,
        "finished_frames": 4,
        "streams": [
            {
                "name": "conv1_skip",
                "kind": "skip",
                "depth": 20,
                "max_occupancy": 17,
                "width_bits": 8,
                "occupancy": {"cycles": [0, 100], "tokens": [3, 17]},
            }
        ],
        "tasks": [{"name": "conv1", "kind": "StreamConv", "frames": [[0, 8192], [8192, 16384]]}],
    },
    "verification": {
        "images": 10,
        "compared_codes": 99_999,
        "mismatched_codes": 0,
        "float32_differences": 0,
        "first_mismatch": None,
        "failure": None,
        "generated_images": 24,
        "thresholds_hit": 0.875,
        "definition": "qonnx",
        "coverage": [{"tensor": "relu_q", "range": [0, 3], "counts": [6, 1, 1, 2]}],
    },
    "optimisations": {
        "merge_downsample": {
            "applied": True,
            "changed_codes": 0,
            "formula_skip_bits_before": 2000,
            "formula_skip_bits_after": 1500,
            "formula_skip_bram36_before": 1.5,
            "formula_skip_bram36_after": 1,
        },
        "absorb_add": {
            "applied": True,
            "changed_codes": 17,
            "formula_skip_bits_before": 1500,
            "formula_skip_bits_after": 1000,
            "formula_skip_bram36_before": 1,
            "formula_skip_bram36_after": 0.5,
        },
        "size_streams": {"applied": True, "changed_codes": 0, "summary": "8,200 with the sized"},
        "parallelism": {
            "applied": True,
            "changed_codes": 0,
            "mode": "full",
            "cycles": 8192,
            "cycles_lower_bound": 8064,
            "changes": [{"what": "cap lut at 77 % (70 now)", "cycles": 7168}],
            "resource_gap": 0.0123,
        },
    },
    "timings_s": {"generate": 0.5, "verify": 7.25},
}


def shown(report, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_report(report, console)
    return console.file.getvalue()


def test_every_figure_is_shown():
    text = shown(REPORT)
    for figure in (
        "12,345,678 MACs",
        "250 MHz",
        "conv1",
        "1,234.5",
        "5.4 %",
        "8,192 cycles per frame",
        "30,518 frames/s",
        "8,200 cycles per frame",
        "21,111 cycles",
        "no deadlock in 4 frames",
        "0 of 99,999 codes differ from",
        "4,321 bits",
        "8,765 bits",
        "absorb_add: on (17 codes changed)",
        "8,200 with the sized",
        "full mode, 8,192 cycles; none below 8,064 (linear bound)",
        "within 1.2 % of the least",
        "2,000 bits (1.5 BRAM36 by the cost model) without",
        "1,000 (0.5) with them (ratio 0.500)",
        "longest step verify 7.2 s",
    ):
        assert figure in text


def test_sections_not_run_say_so():
    text = shown(dict.fromkeys(SECTIONS))
    assert "has not been compared with the model" in text
    assert "unproven" in text


@pytest.mark.parametrize(
    ("section", "key", "value", "figure"),
    [
        ("verification", "failure", "3 labels of the C++ differ", "3 labels of the C++ differ"),
        ("simulation", "deadlock", "deadlock at cycle 5: conv1 waits", "deadlock at cycle 5"),
        ("simulation", "interrupted", True, "the first 4 of 4 frames, then interrupted"),
    ],
)
def test_failures_stand_out(section, key, value, figure):
    report = copy.deepcopy(REPORT)
    report[section][key] = value
    assert figure in shown(report)
    assert figure not in shown(REPORT)


def test_the_contract_is_never_passed_off_as_qonnx():
    report = copy.deepcopy(REPORT)
    assert "0 of 99,999 codes differ from qonnx's execution of the model" in shown(report)
    report["verification"] |= {"definition": "contract", "float32_differences": 44}
    text = " ".join(shown(report).split())
    assert "0 of 99,999 codes differ from the contract" in text
    assert "differs from qonnx's float32 execution in 44 codes" in text


def layer(name: str, op: str, **values: object) -> dict[str, object]:
    return {**REPORT["layers"][0], "name": name, "op": op, "mem_style": "", **values}


LAYERS = [
    layer("conv1_weights", "ParameterStream", mem_style="bram", mac_style="", dsp=0, lut=10),
    layer("ds_weights", "ParameterStream", mem_style="lut", mac_style="", dsp=0, lut=20),
    layer("conv1_window_adapter0", "StreamWidthAdapter", mac_style="", dsp=0, lut=3, cycles=9999),
    layer("conv1_window", "WindowBuffer", mac_style="", dsp=0, lut=4),
    layer("conv1", "StreamConv", dsp=54, lut=100),
    layer("conv12", "StreamConv", dsp=7, lut=200),
]


def test_layers_say_how_many_products_share_a_dsp():
    assert "dsp x2" in shown(REPORT).split("och  ich")[1]
    report = copy.deepcopy(REPORT)
    report["layers"][0] |= {"mac_style": "lut", "products_per_dsp": 0}
    assert "dsp x2" not in shown(report).split("och  ich")[1]


def test_helpers_are_summed_into_their_layer():
    groups = {group["name"]: group for group in grouped_layers(LAYERS)}
    assert list(groups) == ["conv1", "conv12", "ds_weights"]
    assert (groups["conv1"]["lut"], groups["conv1"]["dsp"]) == (117, 54)
    assert groups["conv1"]["cycles"] == 9999
    assert (groups["conv1"]["mac_style"], groups["conv1"]["mem_style"]) == ("dsp", "bram")
    for key in ("dsp", "lut", "ff", "bram36", "uram"):
        total = sum(entry[key] for entry in LAYERS)
        assert sum(group[key] for group in groups.values()) == total


def test_the_tables_fit_a_terminal_of_80_columns():
    report = {
        **REPORT,
        "layers": [dict(LAYERS[4], name="layer1_layer1_0_conv1_Conv", cycles=65_536)],
    }
    text = shown(report, width=80)
    for figure in ("URAM", "65,536", "54", "100", "2,000", "4.5"):
        assert figure in text
    assert "…" not in text


def test_two_builds_are_compared_figure_by_figure():
    other = json.loads(json.dumps(REPORT))
    other["throughput"]["cycles_per_frame"] = 2 * REPORT["throughput"]["cycles_per_frame"]
    other["verification"] = None
    found = compare_reports(REPORT, other)
    assert found["cycles per frame, cost model"]["change"] == -50
    assert found["DSP"]["change"] == 0
    assert found["codes that differ"]["second"] is None
    shown = io.StringIO()
    Console(file=shown, width=120).print(comparison_table(found, "new", "old"))
    assert "-50.0 %" in shown.getvalue() and "not run" in shown.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_terminal(width):
    screen = io.StringIO()
    print_report({**REPORT, "layers": LAYERS}, Console(file=screen, width=width, markup=False))
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    head = next(line for line in lines if "cycles" in line and "LUT" in line)
    assert ("och" in head) == (width >= 100)


def test_an_rtl_build_tells_of_its_run_in_verilator():
    report = copy.deepcopy(REPORT) | {"backend": "rtl"}
    assert "RTL in Verilator" not in shown(REPORT)
    assert "not run: the RTL has not been simulated" in shown(report)
    keys = ("frames", "cycles_per_frame", "predicted_cycles_per_frame", "mismatched_codes")
    found = dict(zip(keys, (2, 8192, 8191, 3), strict=True))
    found |= {"compared_codes": 1000, "fps": 30517.6, "not_checked": None}
    report["rtl_simulation"] = found | {"failure": "3 codes of the RTL differ"}
    text = shown(report)
    assert "3 of 1,000 codes differ" in text and "8,191 predicted" in text
    assert "failed: 3 codes of the RTL differ" in text
    report["rtl_simulation"] = found | {"failure": None, "not_checked": "no Verilator found"}
    assert "not run: no Verilator found" in shown(report)
