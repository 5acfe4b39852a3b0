"""The packed multiplier at and beyond the longest safe chain."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import pytest

from finn_resnet.generation.project import library_folder
from finn_resnet.numerics.dsp_packing import longest_chain
from finn_resnet.numerics.ranges import Range

INT8, UINT8 = Range(-128, 127), Range(0, 255)


@dataclass(frozen=True)
class Case:
    """One chain of ``taps`` products of constant operands."""

    taps: int
    high: int
    low: int
    other: int

    @property
    def exact(self) -> tuple[int, int]:
        return self.taps * self.high * self.other, self.taps * self.low * self.other


SOURCE = """
#include <cstdio>
#include "mac.hpp"
template <int N> struct Chain {
  static constexpr bool packed = true;
  static constexpr int chains = 1;
  static constexpr int chain_end[] = {N};
};
template <int N> void run(int a, int d, int b) {
  fr::packed_t ad[N];
  fr::int_t<9> x[N];
  for (int t = 0; t < N; ++t) {
    ad[t] = fr::pack(fr::int_t<9>(a), fr::int_t<9>(d));
    x[t] = static_cast<fr::int_t<9>>(b);
  }
  fr::int_t<24> high = 0;
  fr::int_t<24> low = 0;
  fr::packed_dot<Chain<N>>(ad, x, &high, &low);
  std::printf("%d %d\\n", static_cast<int>(high), static_cast<int>(low));
}
int main() {
"""


def build(cxx, folder, cases, *flags):
    calls = "".join(f"  run<{c.taps}>({c.high}, {c.low}, {c.other});\n" for c in cases)
    source = folder / "mac.cpp"
    source.write_text(SOURCE + calls + "}\n")
    command = [cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", *flags]
    command += [f"-I{library_folder()}", str(source), "-o", str(folder / "mac")]
    subprocess.run(command, check=True)
    return subprocess.run([folder / "mac"], capture_output=True, text=True, check=False)


def sums(done):
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


LONGEST = [
    (Range(-128, 127), INT8, 7, Case(7, -128, -128, -128)),
    (Range(-128, 127), UINT8, 4, Case(4, -128, -128, 255)),
    (Range(-127, 127), INT8, 8, Case(8, -127, -127, -128)),
    (Range(-127, 127), UINT8, 4, Case(4, 127, 127, 255)),
]


@pytest.mark.parametrize(("weights", "codes", "taps", "worst"), LONGEST)
def test_longest_chain_matches_the_published_corners(weights, codes, taps, worst):
    assert longest_chain(weights, codes) == taps == worst.taps


def test_longest_chains_are_exact_in_every_corner(cxx, tmp_path):
    cases = []
    for weights, codes, taps, worst in LONGEST:
        cases.append(worst)
        for high in weights:
            cases += [Case(taps, high, low, x) for low in weights for x in codes]
    done = build(cxx, tmp_path, cases, "-DFR_CHECKED")
    assert done.returncode == 0, done.stderr
    assert sums(done) == [case.exact for case in cases]


def test_one_tap_longer_is_wrong(cxx, tmp_path):
    longer = [Case(worst.taps + 1, *(worst.high, worst.low, worst.other)) for *_, worst in LONGEST]
    found = sums(build(cxx, tmp_path, longer))
    assert len(found) == len(longer)
    for case, result in zip(longer, found, strict=True):
        assert result != case.exact


def test_checked_builds_stop_at_a_chain_that_is_too_long(cxx, tmp_path):
    done = build(cxx, tmp_path, [Case(8, -128, -128, -128)], "-DFR_CHECKED")
    assert done.returncode != 0
    assert "packed multiplier" in done.stderr
