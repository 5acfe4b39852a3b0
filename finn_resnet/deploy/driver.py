"""Runs the accelerator on a PYNQ board: NumPy in, NumPy out.

This file is copied to the board as it is; it needs NumPy and pynq, and `accelerator.json` and
`host_steps.py` beside it. All hardware is reached through `pynq.Overlay` and `pynq.allocate`.

    from driver import Accelerator
    accelerator = Accelerator()
    accelerator.load_parameters()          # where the design keeps weights in URAM
    labels = accelerator.classify(images)  # uint8 [N, H, W, C]

Run as a program it compares the accelerator with the test vectors and measures it.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

try:
    from host_steps import run_steps  # beside this file on the board
except ImportError:
    from finn_resnet.custom_ops.host_steps import run_steps

MANIFEST = "accelerator.json"
VECTORS = "vectors.npz"

_ROUNDING: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "ROUND": np.round,
    "HALF_EVEN": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}


class DriverError(Exception):
    """Bad input or a board that does not fit the design: one line with the remedy."""


@dataclass(frozen=True)
class Measurement:
    """Frames per second of whole batches, and seconds from one frame's start to its result.

    Both are wall-clock times of this driver, so they hold its own work and the DMA's.
    """

    frames: int
    frames_per_second: float
    latency_s: float


@dataclass(frozen=True)
class Evaluation:
    """``labels`` [N] and ``codes`` [N, ...] the accelerator gave; ``accuracy`` a fraction."""

    accuracy: float
    labels: np.ndarray
    codes: np.ndarray


class Stream:
    """An AXI stream of the accelerator: frames of integer codes [H, W, C] through one DMA."""

    def __init__(self, description: Mapping[str, Any], beat_bytes: int) -> None:
        self.name: str = description["name"]
        self.dma: str = description["dma"]
        self.shape = tuple(description["shape"])
        kind = "i" if description["signed"] else "u"
        self.dtype = np.dtype(f"<{kind}{description['code_bytes']}")
        self.frame_bytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self.padded_bytes = -(-self.frame_bytes // beat_bytes) * beat_bytes

    def pack(self, codes: np.ndarray, target: np.ndarray) -> None:
        """Write codes [N, H, W, C] to rows of ``target`` [N, padded_bytes]."""
        rows = np.ascontiguousarray(codes, self.dtype).reshape(len(codes), -1).view(np.uint8)
        target[:, : self.frame_bytes] = rows
        target[:, self.frame_bytes :] = 0

    def unpack(self, source: np.ndarray) -> np.ndarray:
        """Codes [N, H, W, C] from rows of ``source`` [N, padded_bytes]."""
        # A copy: the buffer is used again by the next batch.
        rows = np.array(source[:, : self.frame_bytes], order="C")
        return rows.view(self.dtype).reshape(len(source), *self.shape)

    def checked(self, codes: np.ndarray) -> np.ndarray:
        """``codes`` in the stream's own type.

        Raises:
            DriverError: no integers, another shape, no frames, or out of the type's range.
        """
        codes = np.asarray(codes)
        wanted = ", ".join(["N", *map(str, self.shape)])
        if codes.dtype.kind not in "iu":
            raise DriverError(
                f"input '{self.name}' takes integer codes, not {codes.dtype}: quantise pictures "
                "with quantise()"
            )
        if codes.ndim != 4 or codes.shape[1:] != self.shape or len(codes) == 0:
            raise DriverError(
                f"input '{self.name}' takes codes [{wanted}] with N >= 1, not {list(codes.shape)}"
            )
        limits = np.iinfo(self.dtype)
        if codes.min() < limits.min or codes.max() > limits.max:
            raise DriverError(
                f"input '{self.name}' takes codes {limits.min} to {limits.max}, found "
                f"{codes.min()} to {codes.max()}: quantise pictures with quantise()"
            )
        return codes.astype(self.dtype)


class Accelerator:
    """The accelerator of one deploy folder on one board.

    Args:
        folder: the deploy folder, by default that of this file.
        bit_file: bitstream, by default the one the manifest names; its .hwh lies beside it.
        pynq: the pynq module, or what stands for it; imported if None.

    Raises:
        DriverError: a file is missing, pynq is missing, or the bitstream is of another design.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        bit_file: str | Path | None = None,
        pynq: ModuleType | Any = None,
    ) -> None:
        self.folder = Path(folder) if folder is not None else Path(__file__).resolve().parent
        self.manifest = _read_manifest(self.folder)
        beat_bytes = self.manifest["beat_bytes"]
        self.inputs = [Stream(item, beat_bytes) for item in self.manifest["inputs"]]
        self.outputs = [Stream(item, beat_bytes) for item in self.manifest["outputs"]]
        self._pynq = pynq if pynq is not None else _import_pynq()
        self._overlay = _open_overlay(
            self._pynq, Path(bit_file) if bit_file else self.folder / self.manifest["bit_file"]
        )
        self._counter = self._ip(self.manifest["counter"])
        self._dmas = {stream.name: self._ip(stream.dma) for stream in [*self.inputs, *self.outputs]}
        for stream in [*self.inputs, *self.outputs]:
            self._check_width(stream)
        self._buffers: dict[str, Any] = {}
        self._loaded = self.manifest["parameters"] is None

    # Parameters

    def load_parameters(self) -> None:
        """Send the weights that live in URAM; once per bitstream, before the first frame.

        Raises:
            DriverError: they are loaded already, or the file is missing or of another design.
        """
        description = self.manifest["parameters"]
        if description is None:
            return
        if self._loaded:
            raise DriverError(
                "the parameters are loaded already and stay until the next bitstream: make a new "
                "Accelerator to load them again"
            )
        content = _read_parameters(self.folder / description["file"], description)
        buffer = self._pynq.allocate(shape=(len(content),), dtype=np.uint8)
        buffer[:] = np.frombuffer(content, np.uint8)
        channel = self._ip(description["dma"]).sendchannel
        channel.transfer(buffer)
        channel.wait()
        buffer.freebuffer()
        self._loaded = True

    # Codes and values

    def quantise(self, pictures: np.ndarray) -> np.ndarray:
        """Codes [N, H, W, C] of the model's input [N, ...]: its preprocessing and first Quant.

        Raises:
            DriverError: the pictures have another shape or no numbers.
        """
        description = self.manifest["quantiser"]
        pictures = np.asarray(pictures)
        wanted = np.dtype(description["dtype"])
        if pictures.dtype.kind != wanted.kind or list(pictures.shape[1:]) != description["shape"]:
            shape = ", ".join(map(str, description["shape"]))
            kind = "floats" if wanted.kind == "f" else wanted.name
            raise DriverError(
                f"pictures must be {kind} [N, {shape}], not {pictures.dtype} {list(pictures.shape)}"
            )
        # In float32, as the model is executed.
        pictures = run_steps(description["steps"], pictures.astype(wanted))
        scaled = pictures.astype(np.float32) / np.float32(description["scale"])
        zero = np.float32(description["zero_point"])
        if description["rounds_first"]:
            scaled = _ROUNDING[description["rounding_mode"]](scaled)
        scaled = scaled + zero
        if description["bipolar"]:
            scaled = np.where(scaled >= 0, 1, -1)
        clipped = np.clip(scaled, np.float32(description["lo"]), np.float32(description["hi"]))
        rounded = _ROUNDING[description["rounding_mode"]](clipped)
        return np.moveaxis(rounded, 1, -1).astype(self.inputs[0].dtype)

    def normalise(self, images: np.ndarray) -> np.ndarray:
        """The model's input for uint8 images [N, H, W, C], as the model was trained.

        ``(pixel / 255 - mean) / std`` per channel, in the order of the model's axes; of a model
        with integer input the pixels themselves (less 128 where it is signed).

        Raises:
            DriverError: the images have another shape or type.
        """
        images = np.asarray(images)
        if images.dtype != np.uint8 or images.shape[1:] != self.inputs[0].shape:
            raise DriverError(
                f"images must be uint8 [N, {', '.join(map(str, self.inputs[0].shape))}], not "
                f"{images.dtype} {list(images.shape)}"
            )
        description = self.manifest["quantiser"]
        if np.dtype(description["dtype"]).kind != "f":
            lowest = np.iinfo(description["dtype"]).min
            shifted = (images.astype(np.int64) + lowest).astype(description["dtype"])
            return shifted if description["channels_last"] else np.moveaxis(shifted, -1, 1)
        mean, std = (np.array(self.manifest[key]) for key in ("input_mean", "input_std"))
        normalised = (images.astype(np.float64) / 255 - mean) / std
        if not description["channels_last"]:
            normalised = np.moveaxis(normalised, -1, 1)
        return normalised.astype(np.float32)

    def dequantise(self, codes: np.ndarray, output: int = 0) -> np.ndarray:
        """Float values of codes [N, H, W, C] of an output, in the shape the model gives."""
        description = self.manifest["outputs"][output]
        centred = codes.astype(np.int64) - np.array(description["zero_points"], np.int64)
        values = centred * np.array(description["scales"])
        if not description["channels_last"]:
            values = np.moveaxis(values, -1, 1)
        values = values.astype(np.float32).reshape([len(values), *description["value_shape"]])
        return run_steps(description["steps"], values).astype(description["dtype"])

    # Running

    def run_codes(self, codes: np.ndarray | Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Codes [N, H, W, C] by output name, for codes [N, H, W, C] of the input(s).

        Raises:
            DriverError: bad codes, or the parameters are not loaded.
        """
        self._require_parameters()
        named = codes if isinstance(codes, Mapping) else {self.inputs[0].name: codes}
        if set(named) != {stream.name for stream in self.inputs}:
            raise DriverError(
                f"the inputs are {[stream.name for stream in self.inputs]}, codes were given for "
                f"{sorted(named)}"
            )
        checked = {stream.name: stream.checked(named[stream.name]) for stream in self.inputs}
        counts = {len(values) for values in checked.values()}
        if len(counts) != 1:
            raise DriverError(f"the inputs have different numbers of frames: {sorted(counts)}")
        parts = []
        for begin in range(0, counts.pop(), self.largest_batch):
            end = begin + self.largest_batch
            batch = {name: values[begin:end] for name, values in checked.items()}
            frames = self._fill(batch)
            self._transfer(frames)
            parts.append([s.unpack(self._buffers[s.name][:frames]) for s in self.outputs])
        return {
            stream.name: np.concatenate([part[i] for part in parts])
            for i, stream in enumerate(self.outputs)
        }

    def run(self, pictures: np.ndarray) -> np.ndarray:
        """Float values of the first output for float pictures [N, C, H, W]."""
        codes = self.run_codes(self.quantise(pictures))
        return self.dequantise(codes[self.outputs[0].name])

    def classify(self, images: np.ndarray) -> np.ndarray:
        """Labels [N] of uint8 images [N, H, W, C]: the class with the greatest value."""
        values = self.run(self.normalise(images))
        return values.reshape(len(values), -1).argmax(axis=1)

    def evaluate(self, images: np.ndarray, labels: np.ndarray) -> Evaluation:
        """Accuracy over a labelled image set, with the codes of every image.

        Args:
            images: uint8 [N, H, W, C].
            labels: integers [N].

        Raises:
            DriverError: the labels do not fit the images.
        """
        labels = np.asarray(labels)
        if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
            raise DriverError(
                f"labels must be integers [{len(images)}], one for each image, not "
                f"{labels.dtype} {list(labels.shape)}"
            )
        codes = self.run_codes(self.quantise(self.normalise(images)))[self.outputs[0].name]
        values = self.dequantise(codes)
        found = values.reshape(len(values), -1).argmax(axis=1)
        return Evaluation(float(np.mean(found == labels)), found, codes)

    def measure(self, frames: int = 1000, repeats: int = 5) -> Measurement:
        """Throughput of batches of ``frames`` and latency of one frame, best of ``repeats``.

        Raises:
            DriverError: a count below 1, or the parameters are not loaded.
        """
        if frames < 1 or repeats < 1:
            raise DriverError(f"frames = {frames} and repeats = {repeats} must be at least 1")
        self._require_parameters()
        frames = min(frames, self.largest_batch)
        batch = {s.name: np.zeros((frames, *s.shape), s.dtype) for s in self.inputs}
        self._fill(batch)
        seconds = min(self._timed_transfer(frames) for _ in range(repeats))
        latency = min(self._timed_transfer(1) for _ in range(repeats))
        return Measurement(frames, frames / seconds, latency)

    @property
    def largest_batch(self) -> int:
        """Most frames one DMA transfer can take."""
        widest = max(stream.padded_bytes for stream in [*self.inputs, *self.outputs])
        return self.manifest["largest_transfer"] // widest

    def close(self) -> None:
        """Give the buffers back."""
        for buffer in self._buffers.values():
            buffer.freebuffer()
        self._buffers.clear()

    # Hardware

    def _ip(self, name: str) -> Any:
        try:
            return getattr(self._overlay, name)
        except AttributeError as fault:
            raise DriverError(
                f"the bitstream has no block '{name}': it is of another design than "
                f"{self.folder / MANIFEST}"
            ) from fault

    def _check_width(self, stream: Stream) -> None:
        parameters = self._overlay.ip_dict[stream.dma]["parameters"]
        side = "C_M_AXIS_MM2S_TDATA_WIDTH" if stream in self.inputs else "C_S_AXIS_S2MM_TDATA_WIDTH"
        width = int(parameters[side]) // 8
        if stream.padded_bytes % width:
            raise DriverError(
                f"frames of '{stream.name}' have {stream.padded_bytes} bytes, which the "
                f"{8 * width} bit wide stream of {stream.dma} does not divide: build the "
                f"bitstream with {8 * self.manifest['beat_bytes']} bit DMA streams"
            )

    def _require_parameters(self) -> None:
        if not self._loaded:
            raise DriverError(
                "the weights in URAM are not loaded, the accelerator would wait for ever: call "
                "load_parameters() first"
            )

    def _fill(self, batch: Mapping[str, np.ndarray]) -> int:
        frames = len(batch[self.inputs[0].name])
        for stream in [*self.inputs, *self.outputs]:
            self._reserve(stream, frames)
        for stream in self.inputs:
            stream.pack(batch[stream.name], self._buffers[stream.name][:frames])
        return frames

    def _reserve(self, stream: Stream, frames: int) -> None:
        buffer = self._buffers.get(stream.name)
        if buffer is not None and len(buffer) >= frames:
            return
        if buffer is not None:
            buffer.freebuffer()
        self._buffers[stream.name] = self._pynq.allocate(
            shape=(frames, stream.padded_bytes), dtype=np.uint8
        )

    def _transfer(self, frames: int) -> None:
        """Send ``frames`` frames and wait for their results."""
        self._counter.write(0, frames)
        for stream in self.outputs:
            self._start(self._dmas[stream.name].recvchannel, stream, frames)
        for stream in self.inputs:
            self._start(self._dmas[stream.name].sendchannel, stream, frames)
        for stream in self.inputs:
            self._dmas[stream.name].sendchannel.wait()
        for stream in self.outputs:
            self._dmas[stream.name].recvchannel.wait()

    def _start(self, channel: Any, stream: Stream, frames: int) -> None:
        channel.transfer(self._buffers[stream.name], nbytes=frames * stream.padded_bytes)

    def _timed_transfer(self, frames: int) -> float:
        begin = time.perf_counter()
        self._transfer(frames)
        return time.perf_counter() - begin


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise DriverError(
            f"'{folder}' holds no readable {MANIFEST}: give the deploy folder of a build"
        ) from fault


def _import_pynq() -> ModuleType:
    try:
        import pynq
    except ImportError as fault:
        raise DriverError("pynq is not installed: run this on a board with a PYNQ image") from fault
    return pynq


def _open_overlay(pynq: Any, bit_file: Path) -> Any:
    try:
        return pynq.Overlay(str(bit_file))
    except OSError as fault:
        raise DriverError(
            f"bitstream '{bit_file}' or its .hwh cannot be read: run 'make bitstream' in the "
            "build's hls folder, which puts both here"
        ) from fault


def _read_parameters(path: Path, description: Mapping[str, Any]) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise DriverError(f"'{path}' cannot be read: copy the whole deploy folder") from fault
    if len(content) != description["bytes"] or zlib.crc32(content) != description["crc32"]:
        raise DriverError(f"'{path}' is not this design's: copy the whole deploy folder")
    return content


def check_vectors(accelerator: Accelerator) -> tuple[int, int]:
    """Frames of the test vectors, and how many of their codes come out differently."""
    vectors = np.load(accelerator.folder / VECTORS)
    found = accelerator.run_codes({s.name: vectors[s.name] for s in accelerator.inputs})
    wrong = sum(int(np.sum(found[name] != vectors[name])) for name in found)
    return len(vectors[accelerator.inputs[0].name]), wrong


def main() -> int:
    """Compare with the test vectors, then measure; 0 when every code is right."""
    try:
        accelerator = Accelerator()
        accelerator.load_parameters()
        frames, wrong = check_vectors(accelerator)
        print(f"{frames} frames of test vectors, {wrong} codes differ")
        found = accelerator.measure()
    except DriverError as fault:
        print(f"error: {fault}")
        return 2
    print(
        f"{found.frames_per_second:.0f} frames/s in batches of {found.frames}, "
        f"{found.latency_s * 1e6:.0f} us for one frame"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
