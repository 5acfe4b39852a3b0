"""Self-drawn example images for smoke runs: simple shapes on shaded backgrounds.

`python -m finn_resnet.training.examples FILE.npz` draws the archive shipped with the models. It
holds `images` (uint8 [N, 32, 32, 3]) only: the drawings belong to no class.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SIZE = 32
COUNT = 16
SEED = 7


def draw_examples(count: int = COUNT, seed: int = SEED) -> np.ndarray:
    """`count` drawings, uint8 [count, 32, 32, 3]; equal seeds draw equal images.

    The first two are all black and all white, the extremes an accelerator must survive.
    """
    rng = np.random.default_rng(seed)
    extremes = [np.zeros((SIZE, SIZE, 3), np.uint8), np.full((SIZE, SIZE, 3), 255, np.uint8)]
    drawings = [_draw(rng, index) for index in range(max(0, count - len(extremes)))]
    return np.stack((extremes + drawings)[:count])


def _draw(rng: np.random.Generator, index: int) -> np.ndarray:
    rows, columns = np.mgrid[0:SIZE, 0:SIZE] / (SIZE - 1)
    image = _shaded_background(rng, rows, columns)
    shape = (_disc, _box, _stripes)[index % 3](rng, rows, columns)
    image[shape] = rng.uniform(0, 1, 3)
    image += rng.normal(0, 0.03, image.shape)
    return np.rint(image.clip(0, 1) * 255).astype(np.uint8)


def _shaded_background(
    rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi)
    ramp = (rows - 0.5) * np.sin(angle) + (columns - 0.5) * np.cos(angle) + 0.5
    start, end = rng.uniform(0, 1, (2, 3))
    return start + ramp[..., None] * (end - start)


def _disc(rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    row, column = rng.uniform(0.3, 0.7, 2)
    return (rows - row) ** 2 + (columns - column) ** 2 < rng.uniform(0.15, 0.35) ** 2


def _box(rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    top, left = rng.uniform(0.05, 0.4, 2)
    height, width = rng.uniform(0.25, 0.55, 2)
    return (rows > top) & (rows < top + height) & (columns > left) & (columns < left + width)


def _stripes(rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    slope, period = rng.uniform(-1, 1), rng.uniform(0.15, 0.4)
    return ((rows + slope * columns) / period) % 1 < 0.5


def main(arguments: list[str]) -> None:
    """Writes the archive the single argument names."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m finn_resnet.training.examples FILE.npz")
    np.savez_compressed(Path(arguments[0]), images=draw_examples())


if __name__ == "__main__":
    main(sys.argv[1:])
