"""The column at twice the clock, made of the vendor's DSP48E2, against integer sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rtl.vendor_slice import RTL, simulate_slice

pytestmark = pytest.mark.slow

BENCH = Path(__file__).with_name("mac_column_pumped_bench.sv")
COLUMN = RTL / "mac_column_pumped.sv"


def sums(folder, column=COLUMN, **parameters):
    """Clocks whose low sum fits, of these wrong, clocks beyond, of these wrong; wrong phases."""
    names = ("dsp48e2.sv", "dsp48e2_model.sv", "mac_restore.sv")
    sources = [column, *(RTL / name for name in names)]
    words = simulate_slice(BENCH, sources, folder, parameters).splitlines()[-1].split()
    assert words[::2] == ["fits", "wrong", "beyond", "wrong", "phases"]
    return tuple(map(int, words[1::2]))


@pytest.mark.parametrize("before", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("slices", "mod_bits", "unsigned", "hold"), [(1, 0, 1, 0), (4, 2, 1, 1), (9, 2, 0, 1)]
)
def test_every_sum_that_fits_is_exact_at_every_alignment(
    slices, mod_bits, unsigned, hold, before, tmp_path
):
    parameters = {"SLICES": slices, "MOD_BITS": mod_bits, "UNSIGNED": unsigned, "HOLD": hold}
    cycles = 250 if before else 500
    fits, wrong, beyond, _, phases = sums(tmp_path, PRE=before, CYCLES=cycles, **parameters)
    assert fits + beyond == cycles - 129 and fits > beyond
    assert wrong == 0 and phases == 0


def test_without_the_side_chain_long_sums_are_wrong(tmp_path):
    _, wrong, beyond, beyond_wrong, _ = sums(tmp_path, UNSIGNED=1, CYCLES=300)
    assert wrong == 0 and beyond_wrong == beyond > 20


@pytest.mark.parametrize(
    "fault", [("load & ~slot", "load"), ("&& slots[STEP+2]", "&& slots[STEP+1]")]
)
def test_a_wrong_phase_is_seen(fault, tmp_path):
    text = COLUMN.read_text()
    assert fault[0] in text
    mutant = tmp_path / COLUMN.name
    mutant.write_text(text.replace(*fault))
    assert sums(tmp_path, mutant, SLICES=4, MOD_BITS=2, CYCLES=200)[1] > 0
