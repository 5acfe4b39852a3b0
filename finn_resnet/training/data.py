"""Training and test images: CIFAR-10's python batches, or any image set the package reads.

Layouts understood (`PATH` is what the user names, `split` is `train` or `test`):

- `PATH/data_batch_1 ... data_batch_5, test_batch` (also within `PATH/cifar-10-batches-py`),
- `PATH/<split>/<class>/<image>`; `PATH/<class>/<image>` is a test split alone,
- `PATH/*<split>*.npz`, or PATH itself an .npz (see `finn_resnet.image_set`); the array `classes`
  with the class names is optional.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from finn_resnet.errors import UserError
from finn_resnet.image_set import PICTURE_SUFFIXES, load_image_set

CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
SPLITS = ("train", "test")


@dataclass(frozen=True)
class LabelledImages:
    """Images uint8 [N, H, W, 3], labels int64 [N], class names in label order."""

    images: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> LabelledImages:
        """The first `count` images (all of them where there are fewer)."""
        return LabelledImages(self.images[:count], self.labels[:count], self.classes)


def load_split(path: Path | str, split: str, size: int = 32) -> LabelledImages:
    """Reads one split of a data set of `size` x `size` RGB images.

    Raises UserError when nothing readable is there, files are missing, truncated or of another
    image size, or labels are missing or outside the classes.
    """
    found = _read(Path(path), split)
    _check_sizes(found, path, (size, size, 3))
    for label in (found.labels.min(), found.labels.max()):
        if not 0 <= label < len(found.classes):
            raise UserError(f"{path}: label {label} is outside the {len(found.classes)} classes")
    return found


def load_test_images(path: Path | str, shape: tuple[int, int, int], outputs: int) -> LabelledImages:
    """Reads the test split of a data set for a network of any image size and number of classes.

    Args:
        path: data set, in any layout of this module.
        shape: height, width and channels of the network's images.
        outputs: number of classes the network tells apart.

    Classes have the data set's names where it has as many as the network, else numbers.

    Raises UserError when the split is missing, damaged or of another image size, or when a label
    is none of the network's.
    """
    found = _read(Path(path), "test")
    _check_sizes(found, path, shape)
    for label in (found.labels.min(), found.labels.max()):
        if not 0 <= label < outputs:
            raise UserError(
                f"{path}: label {label} is none of the network's {outputs} classes; give the data "
                "set the network was trained for"
            )
    if len(found.classes) == outputs:
        return found
    return replace(found, classes=tuple(str(label) for label in range(outputs)))


def _read(path: Path, split: str) -> LabelledImages:
    if split not in SPLITS:
        raise UserError(f"unknown split {split!r} (known: train, test)")
    if not path.exists():
        raise UserError(f"data set {path} does not exist; give a folder or an .npz archive")
    return _read_archive(path) if path.is_file() else _read_folder(path, split)


def _read_folder(path: Path, split: str) -> LabelledImages:
    for folder in (path, path / "cifar-10-batches-py"):
        if any(folder.glob("data_batch_*")) or (folder / "test_batch").exists():
            return _read_cifar_batches(folder, split)
    if (path / split).is_dir():
        return _read_class_folders(path / split)
    archives = sorted(path.glob(f"*{split}*.npz"))
    if len(archives) == 1:
        return _read_archive(archives[0])
    if archives:
        names = ", ".join(archive.name for archive in archives)
        raise UserError(f"{path} holds several {split} archives ({names}): name one")
    pictures = (file.suffix.lower() in PICTURE_SUFFIXES for file in path.glob("*/*"))
    if split == "test" and any(pictures):
        return _read_class_folders(path)
    raise UserError(
        f"{path} holds no {split} set: expected CIFAR-10 python batches, "
        f"{split}/<class>/ folders, or one *{split}*.npz"
    )


def _check_sizes(found: LabelledImages, path: Path | str, shape: tuple[int, int, int]) -> None:
    if len(found.images) != len(found):
        raise UserError(f"{path}: {len(found.images)} images but {len(found)} labels")
    if found.images.shape[1:] != shape:
        raise UserError(
            f"{path}: images are {found.images.shape[1:]}, the network takes {shape}; resize them"
        )


class _ArrayUnpickler(pickle.Unpickler):
    """Reads what CIFAR-10's batches contain and nothing else: a pickle can run any code."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"})

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "numpy" and name in self._ALLOWED:
            return super().find_class(module, name)
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise UserError(f"a CIFAR-10 batch must not contain {module}.{name}")


def _read_cifar_batches(folder: Path, split: str) -> LabelledImages:
    names = [f"data_batch_{i}" for i in range(1, 6)] if split == "train" else ["test_batch"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UserError(f"{folder} is incomplete: {', '.join(missing)} missing")
    batches = [_read_cifar_batch(folder / name) for name in names]
    images = np.concatenate([pixels for pixels, _ in batches])
    labels = np.concatenate([labels for _, labels in batches])
    return LabelledImages(images, labels, CIFAR10_CLASSES)


def _read_cifar_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with path.open("rb") as file:
            batch = _ArrayUnpickler(file, encoding="bytes").load()
        pixels = np.asarray(batch[b"data"], np.uint8)
        labels = np.asarray(batch[b"labels"], np.int64)
    except (pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError) as error:
        raise UserError(f"{path} is not a CIFAR-10 python batch or is truncated") from error
    if pixels.shape != (len(labels), 3072):
        raise UserError(f"{path}: data of shape {pixels.shape} for {len(labels)} labels")
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _read_class_folders(folder: Path) -> LabelledImages:
    classes = tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir()))
    if not classes:
        raise UserError(f"{folder} holds no <class>/ folders")
    found = load_image_set(folder)
    empty = set(range(len(classes))) - set(found.labels.tolist())
    if empty:
        raise UserError(f"{folder / classes[min(empty)]} holds no images")
    return LabelledImages(found.images, found.labels, classes)


def _read_archive(path: Path) -> LabelledImages:
    found = load_image_set(path)
    if found.labels is None:
        raise UserError(f"{path} holds no labels")
    with np.load(path, allow_pickle=False) as archive:
        _refuse_cut_jpegs(archive, path)
        names = archive["classes"] if "classes" in archive.files else CIFAR10_CLASSES
        # The reader drops labels in excess; a training set with them is not what it seems.
        labels = archive["labels"].astype(np.int64)
    return LabelledImages(found.images, labels, tuple(str(name) for name in names))


def _refuse_cut_jpegs(archive: Any, path: Path) -> None:
    if "offsets" in archive.files and archive["offsets"][-1] != len(archive["jpeg"]):
        raise UserError(
            f"{path} is truncated: {len(archive['jpeg'])} of {archive['offsets'][-1]} JPEG bytes"
        )
