"""A dozen wrong designs, each a single edit, that the default verification has to catch.

The whole list is `python -m benchmarks.mutation`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mutation import CAUGHT, MUTANTS, MUTANTS_IN_CI, MutationBench
from finn_resnet.simulation import compiler


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, cxx: str) -> MutationBench:
    return MutationBench(tmp_path_factory.mktemp("mutation"))


@pytest.fixture(autouse=True)
def quick_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs are short: compiling is what takes time."""
    monkeypatch.setattr(compiler, "_UNTIMED", ("-O0",))


def test_the_design_as_it_is_passes(bench: MutationBench) -> None:
    assert bench.run(None) == ("survived", "")


@pytest.mark.parametrize("name", MUTANTS_IN_CI)
def test_a_mutant_is_caught(bench: MutationBench, name: str) -> None:
    (mutant,) = [m for m in MUTANTS if m.name == name]
    outcome, detail = bench.run(mutant)
    assert outcome in CAUGHT, detail


def test_every_pattern_of_the_list_matches(bench: MutationBench, tmp_path: Path) -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    bench.check(MUTANTS)
