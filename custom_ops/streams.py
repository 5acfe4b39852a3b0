"""The streams of hardware nodes as values: what travels, and how (architecture, section 1).

Two nodes are connected rightly if and only if the stream that one writes equals the stream that the
other reads. Each class says how a frame of its tensor travels:

* on the wires: ``lanes`` streams (0: one plain stream) of tokens with the extents ``token``;
* as FINN sees it: one stream of equal words, all lanes side by side, lane 0 lowest, first code
  lowest. ``words`` is the shape of a frame in words (slowest first), ``entries`` the codes of a
  word; ``fold`` and ``unfold`` turn frames of the tensor into words and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

import numpy as np

from finn_resnet.numerics.dsp_packing import tap_order


def window_columns(fw: int, ow_par: int, stride_w: int) -> int:
    """Columns of a window that serves ``ow_par`` neighbouring outputs."""
    return fw + (ow_par - 1) * stride_w


@dataclass(frozen=True, order=True)
class StreamProfile:
    """``lanes`` streams (columns modulo lanes), each token packing ``ch_par`` codes."""

    lanes: int
    ch_par: int


@dataclass(frozen=True)
class PictureStream:
    """Tensor ``[N, h, w, ch]`` in ``lanes`` column lanes of ``ch_par`` channels."""

    kind: ClassVar[str] = "activation"
    h: int
    w: int
    ch: int
    lanes: int
    ch_par: int

    def __str__(self) -> str:
        return f"{self.h}x{self.w}x{self.ch} in {self.lanes} lanes of {self.ch_par} codes"

    @property
    def profile(self) -> StreamProfile:
        """What a width adapter can change."""
        return StreamProfile(self.lanes, self.ch_par)

    @property
    def size(self) -> tuple[int, int, int]:
        """Height, width and channels: what no adapter can change."""
        return self.h, self.w, self.ch

    @property
    def token(self) -> tuple[int, ...]:
        """Channels of a token."""
        return (self.ch_par,)

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
    """Windows ``[N, oh, ow, fh*fw*ch]``, those of ``ow_par`` neighbouring outputs in one token.

    With ``rows`` every window row is a stream of its own.
    """

    kind: ClassVar[str] = "window"
    oh: int
    ow: int
    fh: int
    fw: int
    ch: int
    stride_w: int
    ow_par: int
    ch_par: int
    rows: bool = False

    def __str__(self) -> str:
        size = f"{self.oh}x{self.ow} windows {self.fh}x{self.fw}x{self.ch}"
        form = "a stream for each row" if self.rows else "one stream"
        return f"{size}, {self.ow_par} at a time, {self.ch_par} channels a token, {form}"

    @property
    def columns(self) -> int:
        """Width of the merged window."""
        return window_columns(self.fw, self.ow_par, self.stride_w)

    @property
    def lanes(self) -> int:
        """A stream for each window row, or one plain stream."""
        return self.fh if self.rows else 0

    @property
    def token(self) -> tuple[int, ...]:
        """Codes of a token."""
        return (self.entries // (self.lanes or 1),)

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

    kind: ClassVar[str] = "parameter"
    lanes: ClassVar[int] = 0
    och: int
    fh: int
    fw: int
    ich: int
    och_par: int
    ich_par: int
    repeats: int

    def __str__(self) -> str:
        size = f"weights {self.och}x{self.fh}x{self.fw}x{self.ich}"
        return f"{size}, {self.och_par}x{self.ich_par} channels a token, {self.repeats} times"

    @property
    def token(self) -> tuple[int, ...]:
        """Output channels, and the weights of each."""
        return self.och_par, self.entries // self.och_par

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

    kind: ClassVar[str] = "memory"
    lanes: ClassVar[int] = 0
    h: int
    w: int
    ch: int
    code_bytes: int
    beat_bytes: int

    def __str__(self) -> str:
        return f"{self.h}x{self.w}x{self.ch} codes of {self.code_bytes} bytes in memory order"

    @property
    def token(self) -> tuple[int, ...]:
        """Codes of a beat."""
        return (self.entries,)

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


Stream = PictureStream | WindowStream | WeightStream | BeatStream


def weight_words(weights: np.ndarray, och_par: int, ich_par: int) -> np.ndarray:
    """Memory words ``[ceil(ich/ich_par) * ceil(och/och_par), och_par * ich_par * fh * fw]``.

    Order of the words: input channel group, output channel group (fastest); within a word output
    channel, input channel, kernel tap (fastest). Entries beyond the last channel are 0.

    Args:
        weights: integers ``[och, fh, fw, ich]``.
        och_par: output channels of a word.
        ich_par: input channels of a word.
    """
    rows = tap_order(weights, ich_par)
    och, in_groups, taps = rows.shape
    out_groups = -(-och // och_par)
    padded = np.zeros((out_groups * och_par, in_groups, taps), np.int64)
    padded[:och] = rows
    words = padded.reshape(out_groups, och_par, in_groups, taps).transpose(2, 0, 1, 3)
    return words.reshape(in_groups * out_groups, och_par * taps)
