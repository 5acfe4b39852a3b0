"""Model cards: what a shipped model is and how it was made, with measured figures only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
    depth: int
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

ResNet{facts.depth} for 32x32 RGB images, ten classes, as QONNX.

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
| quantised (PyTorch and QONNX) | {100 * measured.quantised_network:.2f} % |

## Recipe

Training data: {facts.training_data}. Seed {facts.seed}.

{steps}

The last epoch is shipped; no checkpoint was selected by its test accuracy.
"""
