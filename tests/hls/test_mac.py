"""The packed multipliers at and beyond the longest safe chain."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from finn_resnet.generation.templates import library_folder
from finn_resnet.numerics.dsp_packing import FOURS, PAIRS, Packing, chain_ends, longest_chain
from finn_resnet.numerics.ranges import Range

INT8, UINT8, INT4, UINT4 = Range(-128, 127), Range(0, 255), Range(-8, 7), Range(0, 15)


@dataclass(frozen=True)
class Case:
    """An array of dot products in one chain each, all taps of a row or column equal."""

    packing: Packing
    taps: int
    weights: tuple[int, ...]
    codes: tuple[int, ...]

    @property
    def exact(self) -> list[int]:
        return [self.taps * w * x for x in self.codes for w in self.weights]

    @property
    def call(self) -> str:
        och_par, ow_par = len(self.weights), len(self.codes)
        operands, bits = self.packing
        group = self.packing.column_group(och_par, ow_par)
        weights, codes = (", ".join(map(str, values)) for values in (self.weights, self.codes))
        mac = f"Mac<{operands}, {bits}, {group}, {self.taps}>"
        return f"run<{mac}, {ow_par}, {och_par}, {self.taps}>({{{weights}}}, {{{codes}}});"


SOURCE = """
#include <cstdio>
#include "mac.hpp"
template <int Operands, int Bits, int Group, int N> struct Mac {
  static constexpr int port_operands = Operands;
  static constexpr int field_bits = Bits;
  static constexpr int column_group = Group;
  static constexpr bool use_dsp = true;
  static constexpr int chains = 1;
  static constexpr int chain_end[] = {N};
  using mac_in_t = fr::int_t<9>;
};
template <class M, int Lanes, int Outputs, int N>
void run(const int (&weights)[Outputs], const int (&codes)[Lanes]) {
  fr::mac_operands<M, Lanes, N> x;
  fr::int_t<9> w[Outputs][N];
  for (int t = 0; t < N; ++t) {
    x.set(t, [&codes](int l) { return static_cast<fr::int_t<9>>(codes[l]); });
    for (int o = 0; o < Outputs; ++o) w[o][t] = static_cast<fr::int_t<9>>(weights[o]);
  }
  fr::int_t<24> sum[Lanes][Outputs];
  fr::mac_array<M>(x, w, sum);
  for (const auto& lane : sum) {
    for (const auto& value : lane) std::printf("%d ", static_cast<int>(value));
  }
  std::printf("\\n");
}
int main() {
"""


def build(cxx, folder, cases, *flags):
    source = folder / "mac.cpp"
    source.write_text(SOURCE + "".join(f"  {case.call}\n" for case in cases) + "}\n")
    command = [cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", *flags]
    command += [f"-I{library_folder()}", str(source), "-o", str(folder / "mac")]
    subprocess.run(command, check=True)
    return subprocess.run([folder / "mac"], capture_output=True, text=True, check=False)


def sums(done):
    return [list(map(int, line.split())) for line in done.stdout.splitlines()]


# Operand ranges, the longest chain that is safe for any of their codes, and codes at which one tap
# more is not.
LONGEST = [
    (PAIRS, INT8, INT8, 7, (-128, -128)),
    (PAIRS, INT8, UINT8, 4, (-128, 255)),
    (PAIRS, Range(-127, 127), INT8, 8, (-127, -128)),
    (PAIRS, Range(-127, 127), UINT8, 4, (127, 255)),
    (FOURS, INT4, INT4, 15, (-8, -8)),
    (FOURS, INT4, UINT4, 8, (-8, 15)),
    (FOURS, Range(-7, 7), UINT4, 9, (7, 15)),
]
# (och_par, ow_par): every tile, with whole and with ragged groups.
ARRAYS = [(2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (3, 2), (4, 5)]


@pytest.mark.parametrize(("packing", "weights", "codes", "taps", "worst"), LONGEST)
def test_longest_chain_matches_the_published_corners(packing, weights, codes, taps, worst):
    assert longest_chain(weights, codes, packing) == taps
    assert chain_ends(np.full((1, 99), worst[0]), codes, packing)[0] == taps


def corners(packing, weights, codes, taps, worst):
    """The worst case everywhere, and ends of the ranges and 0 in turns, in every array."""
    rng = np.random.default_rng(taps)
    for och_par, ow_par in ARRAYS:
        yield Case(packing, taps, (worst[0],) * och_par, (worst[1],) * ow_par)
        for _ in range(6):
            w = rng.choice([*weights, 0], och_par)
            x = rng.choice([*codes, 0], ow_par)
            yield Case(packing, taps, tuple(w.tolist()), tuple(x.tolist()))


def test_longest_chains_are_exact_in_every_corner(cxx, tmp_path):
    cases = [case for row in LONGEST for case in corners(*row)]
    done = build(cxx, tmp_path, cases, "-DFR_CHECKED")
    assert done.returncode == 0, done.stderr
    assert sums(done) == [case.exact for case in cases]


def test_one_tap_longer_is_wrong(cxx, tmp_path):
    longer = [
        Case(packing, taps + 1, (worst[0],) * och_par, (worst[1],) * ow_par)
        for packing, _, _, taps, worst in LONGEST
        for och_par, ow_par in ARRAYS
    ]
    found = sums(build(cxx, tmp_path, longer))
    assert len(found) == len(longer)
    for case, result in zip(longer, found, strict=True):
        assert result != case.exact


@pytest.mark.parametrize("row", [LONGEST[0], LONGEST[-1]])
def test_checked_builds_stop_at_a_chain_that_is_too_long(cxx, tmp_path, row):
    packing, _, _, taps, worst = row
    case = Case(packing, taps + 1, (worst[0],) * 2, (worst[1],) * 2)
    done = build(cxx, tmp_path, [case], "-DFR_CHECKED")
    assert done.returncode != 0
    assert "packed multiplier" in done.stderr


# What the cascade class of the vendor's hls_dsp_builtins.h computes, by its documentation.
BUILTINS = """
namespace hls::dsp48e2 {
enum : long { REG_A1 = 1, REG_B1 = 2, REG_M = 4, REG_P = 8 };
template <long Flags>
struct cascade {
  struct R_t { long acout, bcout, pcout; };
  R_t mul_add(long a, long b, long c) { return {a, b, a * b + c}; }
};
}  // namespace hls::dsp48e2
"""


def test_instantiated_dsps_compute_the_same(cxx, tmp_path):
    (tmp_path / "hls_dsp_builtins.h").write_text(BUILTINS)
    cases = [case for row in (LONGEST[0], LONGEST[-1]) for case in corners(*row)]
    done = build(cxx, tmp_path, cases, "-DFR_DSP_BUILTINS", "-DFR_CHECKED", f"-I{tmp_path}")
    assert done.returncode == 0, done.stderr
    assert sums(done) == [case.exact for case in cases]
