"""The packed column of multipliers, made of the vendor's DSP48E2, against integer sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rtl.vendor_slice import RTL, simulate_slice

pytestmark = pytest.mark.slow

BENCH = Path(__file__).with_name("mac_column_bench.sv")
SOURCES = [RTL / "dsp48e2.sv", RTL / "mac_column.sv", RTL / "mac_restore.sv"]


def sums(folder, sources=SOURCES, **parameters):
    """Cycles that fit, of these wrong, cycles beyond, of these wrong."""
    model = RTL / "dsp48e2_model.sv"
    printed = simulate_slice(BENCH, [*sources, model], folder, parameters)
    words = printed.splitlines()[-1].split()
    assert words[::2] == ["fits", "wrong", "beyond", "wrong"]
    return tuple(map(int, words[1::2]))


@pytest.mark.parametrize(
    ("taps", "mod_bits", "unsigned", "hold"),
    [(1, 0, 1, 0), (4, 0, 1, 2), (7, 0, 0, 1), (9, 1, 0, 2), (9, 2, 1, 1), (14, 2, 1, 2)],
)
def test_every_sum_that_fits_is_exact(taps, mod_bits, unsigned, hold, tmp_path):
    parameters = {"TAPS": taps, "MOD_BITS": mod_bits, "UNSIGNED": unsigned, "HOLD": hold}
    fits, wrong, beyond, _ = sums(tmp_path, **parameters)
    assert fits > 300 and wrong == 0
    assert beyond == 0 or mod_bits < 2


def test_without_the_side_chain_long_sums_are_wrong(tmp_path):
    _, wrong, beyond, beyond_wrong = sums(tmp_path, TAPS=14, MOD_BITS=0, UNSIGNED=1)
    assert wrong == 0 and beyond_wrong == beyond > 100


def test_a_tap_that_comes_early_is_seen(tmp_path):
    text = (RTL / "mac_column.sv").read_text()
    product = "w[t] * x[t];"
    assert text.count(product) == 1
    mutant = tmp_path / "mac_column.sv"
    mutant.write_text(text.replace(product, "w[t] * narrow[0+:MOD_BITS];"))
    sources = [RTL / "dsp48e2.sv", mutant, RTL / "mac_restore.sv"]
    assert sums(tmp_path, sources, MOD_BITS=1, CYCLES=500)[1] > 0
