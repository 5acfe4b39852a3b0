"""StreamGroupedConv: grouped and depthwise convolution, every group from its own channels alone."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.stream_conv import CONV_ATTRIBUTES, ConvOp
from finn_resnet.custom_ops.streams import PictureStream, Stream, WeightStream
from finn_resnet.custom_ops.window import window_stream
from finn_resnet.numerics.ranges import Range


class StreamGroupedConv(ConvOp):
    """Windows, weights, bias -> codes; output channel ``o`` sees only the channels of its group.

    With ``part = ich / group`` inputs and ``per = och / group`` outputs of a group (both 1 in a
    plain depthwise convolution, ``per`` its depth multiplier):

        out[o] = requant(bias[o] + sum_{i,j,c < part} window[i, j, (o // per) * part + c] * w[o, c])

    An iteration computes ``och_par`` outputs, which are whole groups; it reads the window token of
    their inputs and writes their codes, so nothing is accumulated from one iteration to the next.
    """

    unrolled: ClassVar = {"och_par": "och", "ow_par": "ow"}
    factors: ClassVar = {
        name: name
        for name in ("och_par", "ow_par", "mac_style", "mem_mode", "buffer_style", "chain")
    }

    def operands(self) -> tuple[str, ...]:
        """Window, weights and bias."""
        return ("window", "weights", "bias")

    def attributes(self) -> AttributeTypes:
        """`CONV_ATTRIBUTES` and the number of groups."""
        return {**CONV_ATTRIBUTES, "group": ("i", True, 1)}

    @property
    def part(self) -> int:
        """Input channels of a group."""
        ich, group = self.attrs("ich", "group")
        return ich // group

    @property
    def per(self) -> int:
        """Output channels of a group."""
        och, group = self.attrs("och", "group")
        return och // group

    @property
    def group_par(self) -> int:
        """Groups of an iteration."""
        return self.get_nodeattr("och_par") // self.per

    def factor_step(self, name: str) -> int:
        """An iteration computes whole groups."""
        return self.per if name == "och_par" else 1

    def read_channels(self, och_par: int) -> int:
        """Those of the groups."""
        return och_par // self.per * self.part

    def input_streams(self) -> tuple[Stream | None, ...]:
        """Windows of the groups' inputs, their weights; the bias is a constant."""
        och, och_par, fh, fw = self.attrs("och", "och_par", "fh", "fw")
        oh, ow, ow_par = self.attrs("oh", "ow", "ow_par")
        part, repeats = self.part, oh * ceil(ow / ow_par)
        return (
            window_stream(self, "ich", self.read_channels(och_par)),
            WeightStream(och, fh, fw, part, och_par, part, repeats),
            None,
        )

    def output_streams(self) -> tuple[PictureStream]:
        """The picture."""
        return (self.picture(),)

    def mac_counts(self) -> dict[tuple[int, int], int]:
        """oh * ow * och * part * fh * fw."""
        oh, ow, och, fh, fw, bits = self.attrs("oh", "ow", "och", "fh", "fw", "weight_bits")
        return {(self.input_range().bits, bits): oh * ow * och * self.part * fh * fw}

    def products(self) -> int:
        """Products of a cycle."""
        och_par, ow_par, fh, fw = self.attrs("och_par", "ow_par", "fh", "fw")
        return och_par * ow_par * self.part * fh * fw

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact integer convolution of every group by itself; sums in float64, exact below 2^53."""
        fh, fw, group = self.attrs("fh", "fw", "group")
        x, weights, bias = inputs
        windows = x.reshape(*x.shape[:3], fh * fw, group, self.part).transpose(4, 0, 1, 2, 3, 5)
        flat = windows.reshape(group, -1, fh * fw * self.part).astype(np.float64)
        kernels = weights.reshape(group, self.per, -1).transpose(0, 2, 1).astype(np.float64)
        sums = (flat @ kernels).astype(np.int64).reshape(group, *x.shape[:3], self.per)
        acc = sums.transpose(1, 2, 3, 0, 4).reshape(*x.shape[:3], -1) + bias
        return [self.requantiser()(acc)]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Known from the weights alone: the annotation stays."""
        return [None]

    def problems(self) -> list[str]:
        """Also: whole groups, all of them and in an iteration."""
        found = super().problems() + self.check_not_negative("chain")
        ich, och, group, och_par = self.attrs("ich", "och", "group", "och_par")
        if group < 1 or ich % group or och % group:
            return [*found, f"group = {group} must divide ich = {ich} and och = {och}"]
        if och_par % self.per:
            found.append(
                f"och_par = {och_par} must be a multiple of the {self.per} outputs of a group"
            )
        return found
