"""Model cards: what a shipped model is and how it was made, with measured figures only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from finn_resnet.errors import UserError
from finn_resnet.training.network_shape import NetworkShape

QUANTISED_ROW = "quantised (PyTorch and QONNX)"
ACCELERATOR_ROW = "accelerator (generated C++)"
_IMAGES = re.compile(r"^Measured on .*, (\d+) images:$", re.M)


@dataclass(frozen=True)
class MeasuredAccuracy:
    """Accuracies 0 to 1 on one test set; `images` is how many of its images were run."""

    data: str
    images: int
    float_network: float
    quantised_network: float


@dataclass(frozen=True)
class CardFacts:
    """What a card states besides the accuracies."""

    name: str
    shape: NetworkShape
    weight_bits: int
    activation_bits: int
    seed: int
    training_data: str
    recipe: tuple[str, ...]


def write_card(path: Path, facts: CardFacts, measured: MeasuredAccuracy) -> None:
    """Writes the card as Markdown."""
    path.write_text(render_card(facts, measured), encoding="utf-8")


def render_card(facts: CardFacts, measured: MeasuredAccuracy) -> str:
    """The card's Markdown text."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(facts.recipe, start=1))
    return f"""# {facts.name}

ResNet{facts.shape.depth} ({_stages(facts.shape)}) for 32x32 RGB images, ten classes, as QONNX.

- Input: float32 `[1, 3, 32, 32]`, pixel / 255, no further normalisation. Output: ten logits.
- Weights {facts.weight_bits} bits (narrow range), activations {facts.activation_bits} bits; the
  image, the first and the last layer 8 bits; biases 16 bits with scale s_x * s_w.
- Every scale is one power of two per tensor, every zero-point 0.
- No quantiser between a block's second convolution and its Add.

## Accuracy

Measured on {measured.data}, {measured.images} images:

| network | accuracy |
|---|---|
| float | {100 * measured.float_network:.2f} % |
| {QUANTISED_ROW} | {100 * measured.quantised_network:.2f} % |

## Recipe

Training data: {facts.training_data}. Seed {facts.seed}.

{steps}

The last epoch is shipped; no checkpoint was selected by its test accuracy.
"""


def _stages(shape: NetworkShape) -> str:
    pairs = zip(shape.blocks, shape.channels, strict=True)
    return ", ".join(f"{count} x {channels} channels" for count, channels in pairs)


def check_card(path: Path, images: int | None = None) -> None:
    """Refuse a card that cannot take an accelerator's accuracy on `images` images (any if None).

    Raises UserError when the file is no card of this module, or when its accuracies were measured
    on another number of images.
    """
    measured = int(_IMAGES.search(_read_card(path)).group(1))
    if images not in (None, measured):
        raise UserError(
            f"model card {path} gives accuracies on {measured} images, {images} are evaluated; "
            "evaluate the same test set, whole"
        )


def write_accelerator_accuracy(path: Path, accuracy: float, images: int) -> None:
    """Puts the accuracy (0 to 1) of the generated C++ into a card, in place of an earlier one.

    Raises UserError as `check_card`.
    """
    check_card(path, images)
    row = f"| {ACCELERATOR_ROW} | {100 * accuracy:.2f} % |\n"
    text = re.sub(rf"^\| {re.escape(ACCELERATOR_ROW)} \|.*\n", "", _read_card(path), flags=re.M)
    above = re.search(rf"^\| {re.escape(QUANTISED_ROW)} \|.*\n", text, flags=re.M)
    path.write_text(text[: above.end()] + row + text[above.end() :], encoding="utf-8")


def _read_card(path: Path) -> str:
    """Text of a card, which has the row of the quantised network and the number of images."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError(f"model card {path} cannot be read: {fault}") from fault
    if f"\n| {QUANTISED_ROW} |" not in text or _IMAGES.search(text) is None:
        raise UserError(
            f"{path} is no model card (no row '{QUANTISED_ROW}' or no number of images); give the "
            ".md file of a model"
        )
    return text
