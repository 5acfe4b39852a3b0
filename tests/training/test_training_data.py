"""Reading image sets in every layout, and the one-line errors on damaged ones."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from finn_resnet.errors import UserError
from finn_resnet.training.data import LabelledImages, load_split, load_test_images


def write_cifar_batch(path: Path, seed: int, count: int = 20) -> np.ndarray:
    """A CIFAR-10 python batch of random pixels; returns them as [N, 3, 32, 32]."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    batch = {b"data": pixels.reshape(count, -1), b"labels": [int(i) % 10 for i in range(count)]}
    path.write_bytes(pickle.dumps(batch, protocol=2))
    return pixels


def encode(images: np.ndarray, suffix: str) -> list[bytes]:
    """Image files (PNG or JPEG) of uint8 [N, H, W, 3]."""
    image_module = pytest.importorskip("PIL.Image", reason="needs Pillow")
    files = []
    for image in images:
        buffer = io.BytesIO()
        image_module.fromarray(image).save(buffer, suffix)
        files.append(buffer.getvalue())
    return files


def random_pixels(count: int, size: int = 32) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def write_jpeg_archive(path: Path, count: int = 6) -> None:
    files = encode(random_pixels(count), "JPEG")
    np.savez(
        path,
        jpeg=np.frombuffer(b"".join(files), np.uint8),
        offsets=np.cumsum([0] + [len(file) for file in files]),
        labels=np.arange(count, dtype=np.uint8),
    )


def test_cifar_batches_keep_pixel_order(tmp_path: Path) -> None:
    batches = [write_cifar_batch(tmp_path / f"data_batch_{i}", seed=i) for i in range(1, 6)]
    images = load_split(tmp_path, "train")
    assert len(images) == 100
    np.testing.assert_array_equal(images.images.transpose(0, 3, 1, 2), np.concatenate(batches))
    assert images.classes[9] == "truck"


def test_missing_cifar_batch_is_named(tmp_path: Path) -> None:
    for index in (1, 2, 4, 5):
        write_cifar_batch(tmp_path / f"data_batch_{index}", seed=index)
    with pytest.raises(UserError, match="incomplete: data_batch_3 missing"):
        load_split(tmp_path, "train")


def test_truncated_cifar_batch(tmp_path: Path) -> None:
    path = tmp_path / "test_batch"
    write_cifar_batch(path, seed=0)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match="truncated"):
        load_split(tmp_path, "test")


def test_pickle_with_foreign_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Path("x")}))
    with pytest.raises(UserError, match="must not contain pathlib"):
        load_split(tmp_path, "test")


def test_class_folders(tmp_path: Path) -> None:
    pixels = random_pixels(4)
    for index, file in enumerate(encode(pixels, "PNG")):
        folder = tmp_path / "test" / ("bird", "ant")[index % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{index}.png").write_bytes(file)
    images = load_split(tmp_path, "test")
    assert images.classes == ("ant", "bird")
    np.testing.assert_array_equal(images.labels, [0, 0, 1, 1])
    np.testing.assert_array_equal(images.images, pixels[[1, 3, 0, 2]])


def test_class_folders_without_splits_are_a_test_set(tmp_path: Path) -> None:
    pixels = random_pixels(3)
    for name, file in zip(("cat", "ant", "bee"), encode(pixels, "PNG"), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.PNG").write_bytes(file)
    images = load_test_images(tmp_path, (32, 32, 3), outputs=3)
    assert images.classes == ("ant", "bee", "cat")
    np.testing.assert_array_equal(images.images, pixels[[1, 2, 0]])
    with pytest.raises(UserError, match="holds no train set"):
        load_split(tmp_path, "train")


def test_classes_of_a_larger_network_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, images=random_pixels(3), labels=np.array([0, 9, 11]))
    images = load_test_images(path, (32, 32, 3), outputs=12)
    assert images.classes == tuple(str(label) for label in range(12))
    with pytest.raises(UserError, match="label 11 is none of the network's 11 classes"):
        load_test_images(path, (32, 32, 3), outputs=11)


def test_jpeg_archive(tmp_path: Path) -> None:
    write_jpeg_archive(tmp_path / "my_test.npz")
    images = load_split(tmp_path, "test")
    assert images.images.shape == (6, 32, 32, 3)
    assert isinstance(images.first(2), LabelledImages)
    assert len(images.first(2)) == 2


def test_half_archive(tmp_path: Path) -> None:
    path = tmp_path / "my_test.npz"
    write_jpeg_archive(path)
    with np.load(path) as archive:
        content = dict(archive)
    np.savez(path, **content | {"jpeg": content["jpeg"][:50]})
    with pytest.raises(UserError, match=r"truncated|rise from 0"):
        load_split(tmp_path, "test")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match="cannot be read"):
        load_split(tmp_path, "test")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"images": random_pixels(3, size=28), "labels": np.arange(3)}, r"\(28, 28, 3\)"),
        ({"images": random_pixels(3), "labels": np.arange(2)}, "do not fit 3 images"),
        ({"images": random_pixels(3), "labels": np.array([0, 1, 10])}, "label 10 is outside"),
        ({"labels": np.arange(3)}, "must hold"),
        ({"images": random_pixels(3) / 255, "labels": np.arange(3)}, "must hold uint8"),
        ({"images": random_pixels(0), "labels": np.arange(0)}, "0 images"),
    ],
)
def test_unfit_archives(tmp_path: Path, content: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "a_test.npz", **content)
    with pytest.raises(UserError, match=message):
        load_split(tmp_path, "test")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        load_split(tmp_path / "absent", "test")
    with pytest.raises(UserError, match="holds no train set"):
        load_split(tmp_path, "train")
    with pytest.raises(UserError, match="unknown split"):
        load_split(tmp_path, "validation")
