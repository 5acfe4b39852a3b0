"""Model cards, and the accelerator's accuracy that an evaluation writes into them."""

from __future__ import annotations

from pathlib import Path

import pytest

from finn_resnet.errors import UserError
from finn_resnet.model_source import shipped_models
from finn_resnet.training.model_card import (
    CardFacts,
    MeasuredAccuracy,
    check_card,
    write_accelerator_accuracy,
    write_card,
)
from finn_resnet.training.network_shape import NetworkShape


@pytest.fixture
def card(tmp_path: Path) -> Path:
    path = tmp_path / "net.md"
    facts = CardFacts("net", NetworkShape(), 8, 8, 1, "random images", ("train", "export"))
    write_card(path, facts, MeasuredAccuracy("random images", 40, 0.5, 0.625))
    return path


def test_the_row_is_added_once_and_nothing_else_changes(card: Path) -> None:
    before = card.read_text().splitlines()
    write_accelerator_accuracy(card, 0.5, 40)
    write_accelerator_accuracy(card, 0.625, 40)
    row = "| accelerator (generated C++) | 62.50 % |"
    after = card.read_text().splitlines()
    assert after.index(row) == after.index("| quantised (PyTorch and QONNX) | 62.50 % |") + 1
    assert [line for line in after if line != row] == before


def test_figures_on_different_images_are_not_mixed(card: Path) -> None:
    before = card.read_text()
    with pytest.raises(UserError, match="on 40 images, 30 are evaluated"):
        write_accelerator_accuracy(card, 0.5, 30)
    assert card.read_text() == before


def test_other_files_are_refused(card: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        check_card(tmp_path / "none.md")
    card.write_text(card.read_text().replace("quantised (", "rounded ("))
    with pytest.raises(UserError, match="is no model card"):
        check_card(card)


@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_shipped_models_have_cards_with_the_accuracy_of_each(name: str) -> None:
    path = shipped_models()[name].with_suffix(".md")
    check_card(path, images=10_000)
    rows = [line.split("|")[1:3] for line in path.read_text().splitlines() if " % |" in line]
    shares = {row.split(" (")[0].strip(): share for row, share in rows}
    assert list(shares) == ["float", "quantised", "accelerator"]
    assert shares["accelerator"] == shares["quantised"], "bit-exact C++ has the model's accuracy"
