"""Image sets of every form are read alike; damaged ones are refused in one line."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from finn_resnet.errors import UserError
from finn_resnet.image_set import load_image_set


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (5, 8, 6, 3), dtype=np.uint8)


def jpegs(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    files = []
    for pixels in images:
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "JPEG")
        files.append(buffer.getvalue())
    return np.frombuffer(b"".join(files), np.uint8), np.cumsum([0, *map(len, files)])


def test_npy_and_npz_hold_the_same_images(tmp_path, images):
    np.save(tmp_path / "a.npy", images)
    np.savez(tmp_path / "a.npz", images=images, labels=np.arange(5, dtype=np.uint8))
    plain = load_image_set(tmp_path / "a.npy")
    labelled = load_image_set(tmp_path / "a.npz", 3)
    assert np.array_equal(plain.images, images) and plain.labels is None
    assert np.array_equal(labelled.images, images[:3])
    assert labelled.labels.tolist() == [0, 1, 2]


def test_jpeg_archive_decodes_each_file(tmp_path, images):
    jpeg, offsets = jpegs(images)
    np.savez(tmp_path / "a.npz", jpeg=jpeg, offsets=offsets, labels=np.arange(5))
    read = load_image_set(tmp_path / "a.npz", 4)
    assert read.images.shape == (4, 8, 6, 3)
    for i in range(4):
        one = np.asarray(Image.open(io.BytesIO(jpeg[offsets[i] : offsets[i + 1]].tobytes())))
        assert np.array_equal(read.images[i], one)
    assert read.labels.tolist() == [0, 1, 2, 3]


def test_folder_of_pictures_is_lossless_and_sorted(tmp_path, images):
    for i, pixels in enumerate(images):
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    read = load_image_set(tmp_path)
    assert np.array_equal(read.images, images) and read.labels is None


def test_folders_of_classes_give_labels(tmp_path, images):
    for i, name in enumerate(["cat", "ant", "bee"]):
        (tmp_path / name).mkdir()
        Image.fromarray(images[i]).save(tmp_path / name / "x.png")
    read = load_image_set(tmp_path)
    assert np.array_equal(read.images, images[[1, 2, 0]])
    assert read.labels.tolist() == [0, 1, 2]


def test_public_test_set(shared_data):
    read = load_image_set(shared_data / "cifar10_jpeg_test.npz", 20)
    assert read.images.shape == (20, 32, 32, 3)
    assert read.labels.max() < 10


def refuse(path, message, count=None):
    with pytest.raises(UserError, match=message) as refusal:
        load_image_set(path, count)
    assert "\n" not in str(refusal.value)


def test_illegal_sets_are_refused(tmp_path, images):
    refuse(tmp_path / "none.npz", "cannot be read")
    refuse(tmp_path / "none", "not found")
    refuse(tmp_path, "holds no picture")
    np.save(tmp_path / "f.npy", images.astype(np.float32))
    refuse(tmp_path / "f.npy", "float32.*must hold uint8")
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    refuse(tmp_path / "o.npy", "cannot be read")
    np.savez(tmp_path / "x.npz", pictures=images)
    refuse(tmp_path / "x.npz", "holds pictures, it must hold 'images'")
    np.save(tmp_path / "a.npy", images)
    (tmp_path / "a.npy").rename(tmp_path / "n.npz")
    refuse(tmp_path / "n.npz", "single array; name it .npy")
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    refuse(tmp_path / "x.npy", "archive of arrays; name it .npz")
    np.savez(tmp_path / "l.npz", images=images, labels=np.arange(3))
    refuse(tmp_path / "l.npz", "labels int64 .3. do not fit 5 images")
    np.save(tmp_path / "a.npy", images)
    refuse(tmp_path / "a.npy", "holds 5 images, 6 are wanted", count=6)


def test_damaged_archives_are_refused(tmp_path, images):
    jpeg, offsets = jpegs(images)
    np.savez(tmp_path / "o.npz", jpeg=jpeg, offsets=offsets[::-1])
    refuse(tmp_path / "o.npz", "'offsets' must rise")
    np.savez(tmp_path / "j.npz", jpeg=np.zeros_like(jpeg), offsets=offsets)
    refuse(tmp_path / "j.npz", "picture 0 cannot be decoded")
    np.savez(tmp_path / "t.npz", images=images)
    whole = (tmp_path / "t.npz").read_bytes()
    (tmp_path / "t.npz").write_bytes(whole[: len(whole) // 2])
    refuse(tmp_path / "t.npz", "cannot be read")
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    (tmp_path / "d.npz").write_bytes(bytes(damaged))
    refuse(tmp_path / "d.npz", "cannot be read")


def test_pictures_of_different_sizes_are_refused(tmp_path, images):
    Image.fromarray(images[0]).save(tmp_path / "a.png")
    Image.fromarray(images[1][:4]).save(tmp_path / "b.png")
    refuse(tmp_path, "b.png is 4x6, the pictures before are 8x6")


def test_a_picture_no_memory_holds_is_refused(tmp_path):
    header = struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    content = struct.pack(">I", len(header)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    data = struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    (tmp_path / "big.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content + data)
    with pytest.raises(UserError, match=r"200,000x200,000 pixels take 120\.0 GB"):
        load_image_set(tmp_path)
