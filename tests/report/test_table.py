"""The terminal tables show every figure of the report, and say what was not run."""

from __future__ import annotations

import copy
import io

import pytest
from rich.console import Console

from finn_resnet.report import SECTIONS
from finn_resnet.report.table import print_report

REPORT = {
    "model": {"path": "net.onnx", "sha256": "0" * 64, "macs": 12_345_678, "params": 77_000},
    "board": {
        "name": "KV260",
        "part": "xck26",
        "clock_mhz": 250.0,
        "budget": {"dsp": 1000, "lut": 100_000, "ff": 200_000, "bram36": 144, "uram": 0},
    },
    "layers": [
        {
            "name": "conv1",
            "op": "StreamConv",
            "och_par": 3,
            "ich_par": 1,
            "ow_par": 2,
            "mac_style": "dsp",
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
        "deadlock": None,
        "streams": [],
    },
    "verification": {
        "images": 10,
        "compared_codes": 99_999,
        "mismatched_codes": 0,
        "first_mismatch": None,
    },
    "optimisations": {
        "merge_downsample": {"applied": True, "changed_codes": 0},
        "absorb_add": {"applied": True, "changed_codes": 17},
    },
    "timings_s": {"generate": 0.5, "verify": 7.25},
}


def shown(report) -> str:
    console = Console(file=io.StringIO(), width=200)
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
        "0 of 99,999 codes differ on 10 images",
        "4,321 bits",
        "8,765 bits",
        "absorb_add: on (17 codes changed)",
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
        ("verification", "first_mismatch", {"tensor": "conv7"}, "conv7"),
        ("simulation", "deadlock", "conv1 waits for full stream s", "DEADLOCK: conv1 waits"),
    ],
)
def test_failures_stand_out(section, key, value, figure):
    report = copy.deepcopy(REPORT)
    report[section][key] = value
    assert figure in shown(report)
    assert figure not in shown(REPORT)
