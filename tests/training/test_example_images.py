"""The self-drawn example images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from finn_resnet.training.examples import draw_examples, main


def test_same_seed_same_images(tmp_path: Path) -> None:
    images = draw_examples()
    assert images.shape == (16, 32, 32, 3)
    assert images.dtype == np.uint8
    assert len(np.unique(images.reshape(16, -1), axis=0)) == 16
    main([str(tmp_path / "examples.npz")])
    with np.load(tmp_path / "examples.npz") as archive:
        np.testing.assert_array_equal(archive["images"], images)
