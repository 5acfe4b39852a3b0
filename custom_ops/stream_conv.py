"""StreamConv: the convolution task, with the merged downsample output and the skip input."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, Operand, SearchRole, WriteOrder
from finn_resnet.custom_ops.parameter_stream import MEM_MODES
from finn_resnet.custom_ops.streams import PictureStream, Stream, WeightStream
from finn_resnet.custom_ops.window import BUFFER_STYLES, GEOMETRY, WindowOp, window_stream
from finn_resnet.numerics.ranges import Range

SKIP_MODES = {"none", "accumulator", "epilogue"}
MAC_STYLES = {"dsp", "lut"}


class ConvOp(WindowOp):
    """What all convolution tasks share: windows, weights and bias in, codes out."""

    role = SearchRole.ENGINE
    extents = (*WindowOp.extents, "ich", "och", "weight_bits")
    window, weights, bias = Operand(), Operand(), Operand()

    @property
    def has_downsample(self) -> bool:
        """Whether a 1x1 convolution is merged in."""
        return False

    @property
    def skip_form(self) -> str:
        """How a skip stream joins: one of `SKIP_MODES`."""
        return "none"

    @property
    def has_skip(self) -> bool:
        """Whether a skip stream joins in this task."""
        return self.skip_form != "none"

    def picture(self) -> PictureStream:
        """The output picture, in whose layout a skip stream is read too."""
        return PictureStream(*self.attrs("oh", "ow", "och", "ow_par", "och_par"))

    def input_range(self) -> Range:
        """Range of the codes at the multipliers."""
        return Range(*self.attrs("in_lo", "in_hi"))

    def total_range(self, acc: Range, skip: Range | None) -> Range:
        """Range of what ``requant`` sees, given those of accumulator and skip code."""
        return acc

    def products(self) -> int:
        """Products of a cycle that the task has multipliers for."""
        raise NotImplementedError


CONV_ATTRIBUTES: AttributeTypes = {
    **GEOMETRY,
    "ich": ("i", True, 1),
    "och": ("i", True, 1),
    "och_par": ("i", False, 1),
    "ow_par": ("i", False, 1),
    "buffer_style": ("s", False, "slices", BUFFER_STYLES),
    "mem_mode": ("s", False, "internal_decoupled", MEM_MODES),
    "mac_style": ("s", False, "dsp", MAC_STYLES),
    "chain": ("i", False, 0),
    "in_lo": ("i", True, -128),
    "in_hi": ("i", True, 127),
    "weight_bits": ("i", True, 8),
    "requant": ("s", False, ""),
    # Quantised tensors of the original that live inside this task:
    # {tensor: requantiser from total / from acc / from the downsample's acc}
    "fused_tensors": ("s", False, ""),
}
"""``in_lo``/``in_hi`` bound the codes at the multiplier; ``buffer_style``: that of the window
buffer, ``mem_mode``: that of the weights; ``chain``: taps in a DSP cascade at most (0: as many as
their sums allow)."""


class StreamConv(ConvOp):
    """Windows, weights, bias, [downsample weights, bias], [skip] -> codes, [downsample codes].

    The arithmetic is given in docs/architecture.md, section 1.
    """

    write_order = WriteOrder.PIXEL
    unrolled: ClassVar = {"och_par": "och", "ich_par": "ich", "ow_par": "ow"}
    factors: ClassVar = {
        name: name
        for name in (
            *("och_par", "ich_par", "ow_par"),
            *("mac_style", "mem_mode", "buffer_style", "chain"),
        )
    }
    ds_weights, ds_bias, skip = Operand(), Operand(), Operand()

    def operands(self) -> tuple[str, ...]:
        """Window, weights and bias, those of a merged downsample, a skip stream."""
        downsample = ("ds_weights", "ds_bias") if self.has_downsample else ()
        skip = ("skip",) if self.has_skip else ()
        return ("window", "weights", "bias", *downsample, *skip)

    def results(self) -> tuple[str, ...]:
        """Codes, and those of a merged downsample."""
        return ("out", "ds_out")[: 1 + self.has_downsample]

    def input_streams(self) -> tuple[Stream | None, ...]:
        """See `operands`; a bias is a constant."""
        known = {
            "window": window_stream(self, "ich", "ich_par"),
            "weights": self.weight_stream(*self.attrs("fh", "fw")),
            "ds_weights": self.weight_stream(1, 1),
            "skip": self.picture(),
        }
        return tuple(known.get(name) for name in self.operands())

    def output_streams(self) -> tuple[PictureStream, ...]:
        """The picture, twice with a merged downsample."""
        return (self.picture(),) * len(self.results())

    def weight_stream(self, fh: int, fw: int) -> WeightStream:
        """Weights of an ``fh`` x ``fw`` kernel, once for every column group of every row."""
        och, ich, och_par, ich_par, oh, ow, ow_par = self.attrs(
            "och", "ich", "och_par", "ich_par", "oh", "ow", "ow_par"
        )
        return WeightStream(och, fh, fw, ich, och_par, ich_par, oh * ceil(ow / ow_par))

    @property
    def relays_skip(self) -> bool:
        """A separate 1x1 convolution's data waits at the fork before it."""
        return not self.has_downsample

    def mac_counts(self) -> dict[tuple[int, int], int]:
        """oh * ow * och * ich * fh * fw (eq. 12), and those of a merged downsample."""
        oh, ow, och, ich, fh, fw, bits, ds_bits = self.attrs(
            "oh", "ow", "och", "ich", "fh", "fw", "weight_bits", "ds_weight_bits"
        )
        pixels = oh * ow * och * ich
        counts = Counter({(self.input_range().bits, bits): pixels * fh * fw})
        if self.has_downsample:
            counts[self.ds_input_range().bits, ds_bits] += pixels
        return dict(counts)

    def attributes(self) -> AttributeTypes:
        """`CONV_ATTRIBUTES`, those of the skip stream and of a merged downsample."""
        return {
            **CONV_ATTRIBUTES,
            "group": ("i", False, 1, {1}),
            "ich_par": ("i", False, 1),
            "in_requant": ("s", False, ""),
            "merge_downsample": ("i", False, 0, {0, 1}),
            "ds_tap": ("ints", False, [0, 0]),
            "ds_in_requant": ("s", False, ""),
            "ds_in_lo": ("i", False, 0),
            "ds_in_hi": ("i", False, 0),
            "ds_requant": ("s", False, ""),
            "ds_weight_bits": ("i", False, 8),
            "skip": ("s", False, "none", SKIP_MODES),
            "acc_shift": ("i", False, 0),
            "skip_shift": ("i", False, 0),
            "acc_mult": ("i", False, 1),
            "skip_mult": ("i", False, 1),
            "pre_requant": ("s", False, ""),
            "pre_fused_tensors": ("s", False, ""),
            "ds_fused_tensors": ("s", False, ""),
        }

    @property
    def has_downsample(self) -> bool:
        """Whether a 1x1 convolution is merged in."""
        return bool(self.get_nodeattr("merge_downsample"))

    @property
    def skip_form(self) -> str:
        """How a skip stream joins."""
        return self.get_nodeattr("skip")

    def products(self) -> int:
        """Products of a cycle, those of a merged downsample included."""
        names = ("och_par", "ich_par", "ow_par", "fh", "fw")
        och_par, ich_par, ow_par, fh, fw = self.attrs(*names)
        return och_par * ich_par * ow_par * (fh * fw + self.has_downsample)

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact integer convolution; products are summed in float64, exact below 2^53."""
        fh, fw, ich = self.attrs("fh", "fw", "ich")
        raw = inputs[0].reshape(*inputs[0].shape[:3], fh, fw, ich)
        acc = _dot(self.requantiser("in_requant")(raw), inputs[1]) + inputs[2]
        outputs = [self.requantiser()(self._joined(acc, inputs[-1]))]
        if self.has_downsample:
            row, column = self.get_nodeattr("ds_tap")
            tap = self.requantiser("ds_in_requant")(raw[:, :, :, row, column, :])
            total = _dot(tap[..., None, None, :], inputs[3]) + inputs[4]
            outputs.append(self.requantiser("ds_requant")(total))
        return outputs

    def _joined(self, acc: np.ndarray, skip: np.ndarray) -> np.ndarray:
        if not self.has_skip:
            return acc
        acc_factor, skip_factor = self.join_factors()
        if self.skip_form == "epilogue":
            acc = self.requantiser("pre_requant")(acc)
        return acc * acc_factor + skip * skip_factor

    def join_factors(self) -> tuple[int, int]:
        """Whole numbers that accumulator (or its code) and skip code are multiplied by."""
        acc_mult, skip_mult, acc_shift, skip_shift = self.attrs(
            "acc_mult", "skip_mult", "acc_shift", "skip_shift"
        )
        return acc_mult << acc_shift, skip_mult << skip_shift

    def ds_input_range(self) -> Range:
        """Range of the codes at the merged downsample's multipliers."""
        return Range(*self.attrs("ds_in_lo", "ds_in_hi"))

    def total_range(self, acc: Range, skip: Range | None) -> Range:
        """Range of what ``requant`` sees, given those of accumulator and skip code."""
        if not self.has_skip:
            return acc
        if self.skip_form == "epilogue":
            acc = self.requantiser("pre_requant").output_range(acc)
        acc_factor, skip_factor = self.join_factors()
        return acc.times(acc_factor).plus(skip.times(skip_factor))

    def problems(self) -> list[str]:
        """Also: alignment shifts; an accumulator takes no multiplier."""
        found = super().problems() + self.check_not_negative(
            "acc_shift", "skip_shift", "acc_mult", "skip_mult", "chain"
        )
        mults = self.attrs("acc_mult", "skip_mult")
        if mults != (1, 1) and self.get_nodeattr("skip") != "epilogue":
            found.append(f"acc_mult, skip_mult = {mults} need skip = epilogue")
        return found


def accumulator_range(weights: np.ndarray, bias: np.ndarray, codes: Range) -> Range:
    """Exact range of ``bias + sum(w * x)`` over every x in ``codes``, all channels together.

    Args:
        weights: integers [och, fh, fw, ich].
        bias: integers [och].
        codes: range of the activations at the multiplier (0 of the padding included).
    """
    flat = weights.reshape(len(weights), -1).astype(np.int64)
    ends = np.stack([flat * codes.lo, flat * codes.hi])
    low = ends.min(axis=0).sum(axis=1) + bias
    high = ends.max(axis=0).sum(axis=1) + bias
    return Range(int(low.min()), int(high.max()))


def _dot(windows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[N, OH, OW, fh, fw, ich] x [och, fh, fw, ich] -> [N, OH, OW, och], exact."""
    flat = windows.reshape(*windows.shape[:3], -1).astype(np.float64)
    matrix = weights.reshape(len(weights), -1).T.astype(np.float64)
    return (flat @ matrix).astype(np.int64)
