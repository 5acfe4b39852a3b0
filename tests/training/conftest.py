"""The data set the training tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.random_image_sets import random_images, save_archive


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """Folder with a training set of 96 and a test set of 40 random images."""
    folder = tmp_path / "data"
    folder.mkdir()
    save_archive(folder / "random_train.npz", random_images(96, seed=0))
    save_archive(folder / "random_test.npz", random_images(40, seed=1))
    return folder
