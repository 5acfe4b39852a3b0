"""StreamConcat: the channels of several pictures side by side."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.elementwise import PARALLEL, PICTURE, ElementwiseOp
from finn_resnet.custom_ops.streams import PictureStream
from finn_resnet.numerics.ranges import Range


def concat_channels(parts: tuple[int, ...], ch_par: int) -> int:
    """Most channels of a token, up to ``ch_par``, that no two of the parts share.

    Tokens of all parts but the last are full then, and the joined ones are theirs in turn.
    """
    most = min(ch_par, *parts)
    return next(k for k in range(most, 0, -1) if all(part % k == 0 for part in parts[:-1]))


class StreamConcat(ElementwiseOp):
    """``requant`` of pictures [N, h, w, parts[i]] joined along the channels, in their order.

    All parts travel in the layout of the result; a pixel's tokens are read part by part.
    """

    def attributes(self) -> AttributeTypes:
        """``ch``: channels of the result, ``parts`` those of every input."""
        return {
            **PICTURE,
            **PARALLEL,
            "parts": ("ints", True, []),
            "requant": ("s", False, ""),
            "fused_tensors": ("s", False, ""),
        }

    @property
    def parts(self) -> tuple[int, ...]:
        """Channels of every input."""
        return tuple(self.get_nodeattr("parts"))

    def operands(self) -> tuple[str, ...]:
        """One for every part."""
        return tuple(f"part{index}" for index in range(len(self.parts)))

    def input_streams(self) -> tuple[PictureStream, ...]:
        """The parts, in the layout of the result."""
        h, w, lanes, ch_par = self.attrs("h", "w", "lanes", "ch_par")
        return tuple(PictureStream(h, w, part, lanes, ch_par) for part in self.parts)

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The joined codes, requantised."""
        return [self.requantiser()(np.concatenate(inputs, axis=3))]

    def total_range(self, *codes: Range) -> Range:
        """Range of the codes of all parts."""
        return Range(min(part.lo for part in codes), max(part.hi for part in codes))

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised codes."""
        if None in inputs:
            return [None]
        return [self.requantiser().output_range(self.total_range(*inputs))]

    def problems(self) -> list[str]:
        """Also: the parts are the result, and no token holds channels of two."""
        found = super().problems()
        ch, ch_par = self.attrs("ch", "ch_par")
        parts = self.parts
        if len(parts) < 2 or min(parts) < 1 or sum(parts) != ch:
            return [*found, f"parts = {list(parts)} must be two or more that add up to ch = {ch}"]
        if ch_par > 0 and concat_channels(parts, ch_par) != ch_par:
            legal = concat_channels(parts, ch_par)
            found.append(f"ch_par = {ch_par} does not divide the parts {list(parts)}: use {legal}")
        return found
