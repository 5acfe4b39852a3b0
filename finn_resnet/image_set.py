"""Image sets for verification and evaluation, as uint8 NHWC with optional labels.

Forms: `.npz` of JPEG files (`jpeg` bytes end to end, `offsets` of each file and of the end,
optional `labels`), `.npz` with `images` and optional `labels`, `.npy` of images, or a folder of
pictures (with sub-folders, each sub-folder is a class, numbered in alphabetical order).
JPEG files and folders are decoded with Pillow, the extra `images`.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finn_resnet.errors import UserError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm")


@dataclass(frozen=True)
class ImageSet:
    """`images` uint8 [N, H, W, C]; `labels` integer [N] or None."""

    images: np.ndarray
    labels: np.ndarray | None


def load_image_set(path: str | Path, count: int | None = None) -> ImageSet:
    """Read the first `count` images (all if None) of a set.

    Raises:
        UserError: the set is missing, malformed, empty, holds fewer than `count` images or
            pictures of different sizes, or needs Pillow where there is none.
    """
    if count is not None and count < 1:
        raise UserError(f"{count} images are asked for, ask for at least 1")
    path = Path(path)
    if path.is_dir():
        images, labels = _read_folder(path, count)
    elif path.suffix == ".npz":
        images, labels = _read_npz(path, count)
    elif path.suffix == ".npy":
        images, labels = _read_npy(path), None
    else:
        raise UserError(
            f"image set {str(path)!r} is {'not one' if path.exists() else 'not found'}: give a "
            ".npz, a .npy, or a folder of pictures"
        )
    return _checked(path, images, labels, count)


def check_memory(what: str, count: int, shape: tuple[int, ...], bytes_each: int) -> None:
    """Refuse `count` pictures of `shape` (H, W, C), `bytes_each` a code, that no memory holds.

    Raises:
        UserError: they take more than the machine's memory.
    """
    needed = count * math.prod(shape) * bytes_each
    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > present:
        size = "x".join(f"{extent:,}" for extent in shape[:2])
        raise UserError(
            f"{what}: {count:,} pictures of {size} pixels take {needed / 1e9:,.1f} GB, this "
            f"machine has {present / 1e9:,.1f} GB of memory; take fewer or smaller ones"
        )


def _checked(
    path: Path, images: np.ndarray, labels: np.ndarray | None, count: int | None
) -> ImageSet:
    if images.dtype != np.uint8 or images.ndim != 4:
        raise UserError(
            f"image set {str(path)!r} holds {images.dtype} {list(images.shape)}, it must hold "
            "uint8 [N, H, W, C]"
        )
    if len(images) < (count or 1):
        raise UserError(
            f"image set {str(path)!r} holds {len(images)} images, {count or 1} are wanted; ask "
            "for fewer"
        )
    if labels is not None and (
        labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) < len(images)
    ):
        raise UserError(
            f"image set {str(path)!r}: labels {labels.dtype} {list(labels.shape)} do not fit "
            f"{len(images)} images, they must be integers [N]"
        )
    images = images[:count]
    return ImageSet(images, None if labels is None else labels[: len(images)].astype(np.int64))


# What NumPy raises on a file that is missing, damaged or of another kind.
_NUMPY_FAULTS = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)


def _load_numpy(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of a .npy, or name -> array of a .npz."""
    try:
        content = np.load(path, allow_pickle=False)
        return content if isinstance(content, np.ndarray) else dict(content)
    except _NUMPY_FAULTS as fault:
        raise UserError(f"image set {str(path)!r} cannot be read: {fault}") from fault


def _read_npy(path: Path) -> np.ndarray:
    content = _load_numpy(path)
    if not isinstance(content, np.ndarray):
        raise UserError(f"image set {str(path)!r} is an archive of arrays; name it .npz")
    return content


def _read_npz(path: Path, count: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    arrays = _load_numpy(path)
    if isinstance(arrays, np.ndarray):
        raise UserError(f"image set {str(path)!r} is a single array; name it .npy")
    if "images" in arrays:
        return arrays["images"], arrays.get("labels")
    if "jpeg" in arrays and "offsets" in arrays:
        images = _decode_jpegs(path, arrays["jpeg"], arrays["offsets"], count)
        return images, arrays.get("labels")
    raise UserError(
        f"image set {str(path)!r} holds {', '.join(arrays) or 'nothing'}, it must hold 'images', "
        "or 'jpeg' and 'offsets'"
    )


def _decode_jpegs(
    path: Path, jpeg: np.ndarray, offsets: np.ndarray, count: int | None
) -> np.ndarray:
    ordered = offsets.ndim == 1 and offsets.dtype.kind in "iu" and np.all(np.diff(offsets) >= 0)
    if not ordered or len(offsets) < 2 or offsets[0] < 0 or offsets[-1] > len(jpeg):
        raise UserError(f"image set {str(path)!r}: 'offsets' must rise from 0 to the end of 'jpeg'")
    stop = len(offsets) - 1 if count is None else min(count, len(offsets) - 1)
    return _stack(
        path,
        [
            (f"picture {i}", io.BytesIO(jpeg[offsets[i] : offsets[i + 1]].tobytes()))
            for i in range(stop)
        ],
    )


def _read_folder(path: Path, count: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    classes = sorted(entry for entry in path.iterdir() if entry.is_dir())
    found: list[tuple[Path, int]] = []
    for label, folder in enumerate(classes or [path]):
        files = sorted(f for f in folder.iterdir() if f.suffix.lower() in PICTURE_SUFFIXES)
        found += [(file, label) for file in files]
    if not found:
        raise UserError(f"image set {str(path)!r} holds no picture ({', '.join(PICTURE_SUFFIXES)})")
    found = found[:count]
    images = _stack(path, [(file.name, file) for file, _ in found])
    return images, np.array([label for _, label in found]) if classes else None


@contextlib.contextmanager
def _attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _stack(path: Path, sources: Sequence[tuple[str, Any]]) -> np.ndarray:
    """Decode pictures of one size to uint8 [N, H, W, 3]."""
    try:
        from PIL import Image
    except ImportError as fault:
        raise UserError(
            f"image set {str(path)!r} needs Pillow to be decoded; pip install 'finn_resnet[images]'"
        ) from fault
    decoded: list[np.ndarray] = []
    for name, source in sources:
        try:
            # Pillow has a limit of its own, in pixels; `check_memory` judges instead.
            with _attribute(Image, "MAX_IMAGE_PIXELS", None), Image.open(source) as picture:
                shape = (picture.height, picture.width, 3)
                check_memory(f"image set {str(path)!r}", len(sources), shape, 1)
                pixels = np.asarray(picture.convert("RGB"))
        except (OSError, ValueError, SyntaxError) as fault:
            raise UserError(
                f"image set {str(path)!r}: {name} cannot be decoded: {fault}"
            ) from fault
        if decoded and pixels.shape != decoded[0].shape:
            raise UserError(
                f"image set {str(path)!r}: {name} is {pixels.shape[0]}x{pixels.shape[1]}, the "
                f"pictures before are {decoded[0].shape[0]}x{decoded[0].shape[1]}; resize them"
            )
        decoded.append(pixels)
    return np.stack(decoded)
