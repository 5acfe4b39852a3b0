"""The streams of a hardware node as FINN sees them: one stream of equal words per tensor.

Our lanes travel side by side in one word, lane 0 lowest, first code lowest. Every class below
describes one kind of tensor: `words` is the shape of a frame in words (slowest first), `entries`
the codes of a word; `fold` and `unfold` turn frames of the tensor into words and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.window_buffer import WindowBuffer
from finn_resnet.generation.parameter_code import weight_words


@dataclass(frozen=True)
class PictureStream:
    """Tensor ``[N, h, w, ch]`` in ``lanes`` column lanes of ``ch_par`` channels."""

    h: int
    w: int
    ch: int
    lanes: int
    ch_par: int

    @property
    def words(self) -> tuple[int, ...]:
        """Rows, column groups, channel groups."""
        return self.h, ceil(self.w / self.lanes), ceil(self.ch / self.ch_par)

    @property
    def entries(self) -> int:
        """Codes of a word: ``[lane][channel]``."""
        return self.lanes * self.ch_par

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame's tensor."""
        return 1, self.h, self.w, self.ch

    def fold(self, tensor: np.ndarray) -> np.ndarray:
        """``[N, h, w, ch]`` to ``[N, *words, entries]``; what does not exist is 0."""
        _, groups, channel_groups = self.words
        padded = np.zeros(
            (len(tensor), self.h, groups * self.lanes, channel_groups * self.ch_par), tensor.dtype
        )
        padded[:, :, : self.w, : self.ch] = tensor
        split = padded.reshape(
            len(tensor), self.h, groups, self.lanes, channel_groups, self.ch_par
        ).transpose(0, 1, 2, 4, 3, 5)
        return split.reshape(len(tensor), *self.words, self.entries)

    def unfold(self, words: np.ndarray) -> np.ndarray:
        """Inverse of `fold`."""
        h, groups, channel_groups = self.words
        split = words.reshape(len(words), h, groups, channel_groups, self.lanes, self.ch_par)
        joined = split.transpose(0, 1, 2, 4, 3, 5).reshape(
            len(words), h, groups * self.lanes, channel_groups * self.ch_par
        )
        return joined[:, :, : self.w, : self.ch]


@dataclass(frozen=True)
class WindowStream:
    """Windows ``[N, oh, ow, fh*fw*ch]``, those of ``ow_par`` neighbouring outputs in one word."""

    oh: int
    ow: int
    fh: int
    fw: int
    ch: int
    stride_w: int
    ow_par: int
    ch_par: int

    @property
    def columns(self) -> int:
        """Width of the merged window."""
        return self.fw + (self.ow_par - 1) * self.stride_w

    @property
    def words(self) -> tuple[int, ...]:
        """Output rows, output column groups, channel groups."""
        return self.oh, ceil(self.ow / self.ow_par), ceil(self.ch / self.ch_par)

    @property
    def entries(self) -> int:
        """Codes of a word: ``[row][column of the merged window][channel]``."""
        return self.fh * self.columns * self.ch_par

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame's tensor."""
        return 1, self.oh, self.ow, self.fh * self.fw * self.ch

    def _split(self, count: int) -> tuple[int, ...]:
        return (count, *self.words, self.fh, self.columns, self.ch_par)

    def _outputs(self) -> list[tuple[slice, slice]]:
        """By position in a group: its output columns, its columns of the merged window."""
        return [
            (
                slice(position, self.ow, self.ow_par),
                slice(position * self.stride_w, position * self.stride_w + self.fw),
            )
            for position in range(self.ow_par)
        ]

    def fold(self, tensor: np.ndarray) -> np.ndarray:
        """``[N, oh, ow, fh*fw*ch]`` to words; taps that no existing output reads are 0."""
        words = np.zeros(self._split(len(tensor)), tensor.dtype)
        groups = self.words[2]
        padded = np.zeros(
            (len(tensor), self.oh, self.ow, self.fh, self.fw, groups * self.ch_par), tensor.dtype
        )
        padded[..., : self.ch] = tensor.reshape(*padded.shape[:5], self.ch)
        taps = padded.reshape(*padded.shape[:5], groups, self.ch_par)
        for outputs, columns in self._outputs():
            chosen = taps[:, :, outputs].transpose(0, 1, 2, 5, 3, 4, 6)
            words[:, :, : chosen.shape[2], :, :, columns] = chosen
        return words.reshape(len(tensor), *self.words, self.entries)

    def unfold(self, words: np.ndarray) -> np.ndarray:
        """Inverse of `fold`."""
        split = words.reshape(self._split(len(words)))
        groups = self.words[2]
        shape = (len(words), self.oh, self.ow, self.fh, self.fw, groups * self.ch_par)
        windows = np.empty(shape, words.dtype)
        for outputs, columns in self._outputs():
            target = windows[:, :, outputs]
            chosen = split[:, :, : target.shape[2], :, :, columns].transpose(0, 1, 2, 4, 5, 3, 6)
            windows[:, :, outputs] = chosen.reshape(target.shape)
        return windows[..., : self.ch].reshape(len(words), *self.shape[1:])


@dataclass(frozen=True)
class WeightStream:
    """Weights ``[och, fh, fw, ich]``, streamed ``repeats`` times a frame."""

    och: int
    fh: int
    fw: int
    ich: int
    och_par: int
    ich_par: int
    repeats: int

    @property
    def words(self) -> tuple[int, ...]:
        """Repetitions, input channel groups, output channel groups."""
        return self.repeats, ceil(self.ich / self.ich_par), ceil(self.och / self.och_par)

    @property
    def entries(self) -> int:
        """Weights of a word: ``[och_par][ich_par][fh*fw]``."""
        return self.och_par * self.ich_par * self.fh * self.fw

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor; it has no batch axis."""
        return self.och, self.fh, self.fw, self.ich

    def fold(self, tensor: np.ndarray) -> np.ndarray:
        """Weights to the words of one frame, ``[1, *words, entries]``."""
        frame = weight_words(tensor, self.och_par, self.ich_par)
        return np.broadcast_to(
            frame.reshape(1, 1, *self.words[1:], self.entries), (1, *self.words, self.entries)
        )

    def unfold(self, words: np.ndarray) -> np.ndarray:
        """Weights of ``[N, *words, entries]``.

        Raises:
            ValueError: the repetitions differ.
        """
        if (words != words[:1, :1]).any():
            raise ValueError("a parameter stream changed between its repetitions")
        _, in_groups, out_groups = self.words
        split = words[0, 0].reshape(
            in_groups, out_groups, self.och_par, self.ich_par, self.fh, self.fw
        )
        joined = split.transpose(1, 2, 4, 5, 0, 3).reshape(
            out_groups * self.och_par, self.fh, self.fw, in_groups * self.ich_par
        )
        return joined[: self.och, :, :, : self.ich]


@dataclass(frozen=True)
class BeatStream:
    """Picture ``[N, h, w, ch]`` in memory order, ``beat_bytes`` bytes a word."""

    h: int
    w: int
    ch: int
    code_bytes: int
    beat_bytes: int

    @property
    def words(self) -> tuple[int, ...]:
        """Beats."""
        return (ceil(self.h * self.w * self.ch * self.code_bytes / self.beat_bytes),)

    @property
    def entries(self) -> int:
        """Codes of a beat."""
        return self.beat_bytes // self.code_bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame's tensor."""
        return 1, self.h, self.w, self.ch

    def fold(self, tensor: np.ndarray) -> np.ndarray:
        """Codes to beats; the last one is filled up with 0."""
        beats = np.zeros((len(tensor), prod(self.words) * self.entries), tensor.dtype)
        beats[:, : self.h * self.w * self.ch] = tensor.reshape(len(tensor), -1)
        return beats.reshape(len(tensor), *self.words, self.entries)

    def unfold(self, words: np.ndarray) -> np.ndarray:
        """Inverse of `fold`."""
        codes = words.reshape(len(words), -1)[:, : self.h * self.w * self.ch]
        return codes.reshape(len(words), *self.shape[1:])


FoldedStream = PictureStream | WindowStream | WeightStream | BeatStream


def input_stream(op: HardwareOp, index: int) -> FoldedStream | None:
    """The stream a node reads at input ``index``; None for constants."""
    kind = op.onnx_node.op_type
    if kind == "WindowBuffer":
        return _buffered_picture(op)
    if kind == "ParameterStream":
        return None
    if kind == "StreamConv":
        return _conv_input(op, index)
    if kind == "StreamPool":
        return _pool_input(op)
    if kind == "StreamWidthAdapter":
        return PictureStream(*op.attrs("h", "w", "ch", "in_lanes", "in_ch_par"))
    return _beats(op) if kind == "InputDMA" else _plain_picture(op)


def output_stream(op: HardwareOp, index: int) -> FoldedStream:
    """The stream a node writes at output ``index``."""
    kind = op.onnx_node.op_type
    if kind == "WindowBuffer":
        return _buffered_picture(op) if index else _window(op, "ich", "ich_par")
    if kind == "ParameterStream":
        return WeightStream(*op.attrs("och", "fh", "fw", "ich", "och_par", "ich_par", "repeats"))
    if kind == "StreamConv":
        return PictureStream(*op.attrs("oh", "ow", "och", "ow_par", "och_par"))
    if kind == "StreamPool":
        oh, ow, ch, lanes, ch_par = op.attrs("oh", "ow", "ch", "ow_par", "ch_par")
        return PictureStream(oh, ow, ch, lanes if op.get_nodeattr("windowed") else 1, ch_par)
    if kind == "StreamWidthAdapter":
        return PictureStream(*op.attrs("h", "w", "ch", "out_lanes", "out_ch_par"))
    return _beats(op) if kind == "OutputDMA" else _plain_picture(op)


def _plain_picture(op: HardwareOp) -> PictureStream:
    return PictureStream(*op.attrs("h", "w", "ch", "lanes", "ch_par"))


def _beats(op: HardwareOp) -> BeatStream:
    return BeatStream(*op.attrs("h", "w", "ch", "code_bytes", "beat_bytes"))


def _buffered_picture(op: WindowBuffer) -> PictureStream:
    ih, iw, ich, ich_par = op.attrs("ih", "iw", "ich", "ich_par")
    return PictureStream(ih, iw, ich, op.lanes_in(), ich_par)


def _window(op: HardwareOp, channels: str, parallel: str) -> WindowStream:
    oh, ow, fh, fw, stride, ow_par = op.attrs("oh", "ow", "fh", "fw", "stride", "ow_par")
    ch, ch_par = op.attrs(channels, parallel)
    return WindowStream(oh, ow, fh, fw, ch, stride[1], ow_par, ch_par)


def _conv_input(op: HardwareOp, index: int) -> FoldedStream | None:
    if index == 0:
        return _window(op, "ich", "ich_par")
    oh, ow, och, ow_par, och_par = op.attrs("oh", "ow", "och", "ow_par", "och_par")
    if op.has_skip and index == len(op.onnx_node.input) - 1:
        return PictureStream(oh, ow, och, ow_par, och_par)
    fh, fw, ich, ich_par = op.attrs("fh", "fw", "ich", "ich_par")
    repeats = oh * ceil(ow / ow_par)
    if index == 1:
        return WeightStream(och, fh, fw, ich, och_par, ich_par, repeats)
    return WeightStream(och, 1, 1, ich, och_par, ich_par, repeats) if index == 3 else None


def _pool_input(op: HardwareOp) -> FoldedStream:
    if op.get_nodeattr("windowed"):
        return _window(op, "ch", "ch_par")
    return PictureStream(*op.attrs("ih", "iw", "ch", "ow_par", "ch_par"))
