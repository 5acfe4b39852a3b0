"""The behavioural DSP48E2 against the vendor's simulation model, cycle by cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rtl.vendor_slice import RTL, simulate_slice

BENCH = Path(__file__).with_name("dsp48e2_bench.sv")
# Faults in the model, one for every mechanism it has.
FAULTS = {
    "pre-adder": ("sum <= pre_sum;", "sum <= pre_sum ^ 27'd1;"),
    "operand gate": ("inmode_now[1] ? 27'd0 : added", "added"),
    "load enable": ("if (ce_b) b_first", "b_first"),
    "sign": ("{{3{product[44]}}, product}", "{3'd0, product}"),
    "cascade": ("z = pcin;", "z = p;"),
    "C port": ("w = c_first;", "w = c;"),
    "register": ("product <= multiplied;", "product <= multiplied; b_last <= b;"),
    "reset": ("{product, c_first, inmode_now, opmode_now, p} <= '0;", "p <= '0;"),
}


def compare(folder, model=RTL / "dsp48e2_model.sv", **parameters):
    """The bench's last line: cycles compared and different."""
    printed = simulate_slice(BENCH, [RTL / "dsp48e2.sv", model], folder, parameters)
    return printed.splitlines()[-1]


@pytest.mark.parametrize("select_b", [0, 1])
def test_model_equals_the_vendors(select_b, tmp_path):
    assert compare(tmp_path, SELECT_B=select_b) == "cycles 4000 different 0"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault, tmp_path):
    text = (RTL / "dsp48e2_model.sv").read_text()
    assert text.count(FAULTS[fault][0]) == 1
    mutant = tmp_path / "dsp48e2_model.sv"
    mutant.write_text(text.replace(*FAULTS[fault], 1))
    line = compare(tmp_path, mutant, CYCLES=500)
    assert line.startswith("cycles 500 different ") and not line.endswith(" 0")
