"""The pictures a build is verified on, and how they become the model's input."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.importing import TidyQonnx
from finn_resnet.verification.images import fitting_images, float_input, verification_images
from tests.qonnx_models import residual_network


@pytest.fixture(scope="module")
def model():
    return residual_network().transform(TidyQonnx())


def test_default_images_reach_the_extremes_and_repeat(model):
    config = BuildConfig("resnet8", "KV260", verify_num_images=6)
    images = verification_images(model, config).images
    assert images.shape == (6, 8, 8, 3)
    assert (images[0] == 0).all() and (images[1] == 255).all()
    assert np.array_equal(images, verification_images(model, config).images)
    assert len({image.tobytes() for image in images}) == 6


def test_the_shipped_samples_are_used_where_they_fit():
    model = residual_network(size=32).transform(TidyQonnx())
    images = verification_images(model, BuildConfig("resnet8", "KV260")).images
    noise = np.random.default_rng(0).integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)
    assert images.shape == (10, 32, 32, 3)
    assert not any(np.array_equal(image, other) for image in images for other in noise)


def test_pictures_of_another_size_are_refused(model, tmp_path):
    np.save(tmp_path / "set.npy", np.zeros((2, 4, 8, 3), np.uint8))
    with pytest.raises(UserError, match=r"pictures \[4, 8, 3\], the model takes \[8, 8, 3\]"):
        fitting_images(model, tmp_path / "set.npy", 2)


def test_float_input_scales_then_normalises_each_channel():
    pixels = np.array([0, 51, 255], np.uint8).reshape(1, 1, 1, 3)
    assert float_input(pixels).dtype == np.float32
    assert float_input(pixels).ravel() == pytest.approx([0, 0.2, 1])
    assert float_input(pixels).shape == (1, 3, 1, 1)
    normalised = float_input(pixels, mean=(0.5, 0.2, 0), std=(0.5,))
    assert normalised.ravel() == pytest.approx([-1, 0, 2])
    with pytest.raises(UserError, match="'input_std' has 2 entries"):
        float_input(pixels, std=(1, 2))
