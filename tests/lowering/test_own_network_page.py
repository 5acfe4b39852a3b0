"""The page for users names every operator the program takes, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from finn_resnet.importing.quantiser import QUANT_OPS
from finn_resnet.lowering.operators import HANDLERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_network.md"


def test_operators_of_page_and_registry_are_the_same() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| group |")[1].split("\n\n")[0]
    named = set(re.findall(r"`([A-Za-z]+)`", table))
    # LinearQuant is what the importer makes of a QDQ pair, no operator of a file.
    assert named == {*HANDLERS, *QUANT_OPS} - {"LinearQuant"}
