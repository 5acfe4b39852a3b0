"""StreamPool: max and average pooling on exact integers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, SearchRole
from finn_resnet.custom_ops.streams import PictureStream, Stream
from finn_resnet.custom_ops.window import BUFFER_STYLES, GEOMETRY, WindowOp, window_stream
from finn_resnet.numerics.ranges import Range


class StreamPool(WindowOp):
    """Pool a picture (global, ``windowed`` = 0) or the windows of a WindowBuffer.

    The average is the exact sum of the window; its division is part of ``requant``, or of the
    output's scale.
    """

    factors: ClassVar = {"och_par": "ch_par", "ow_par": "ow_par", "buffer_style": "buffer_style"}
    lane_attribute = "ow_par"

    def attributes(self) -> AttributeTypes:
        """``ow_par``: lanes on both sides; ``buffer_style``: that of the buffer before it."""
        return {
            **GEOMETRY,
            "kind": ("s", True, "max", {"max", "average"}),
            "ch": ("i", True, 1),
            "ch_par": ("i", False, 1),
            "ow_par": ("i", False, 1),
            "buffer_style": ("s", False, "slices", BUFFER_STYLES),
            "windowed": ("i", True, 0, {0, 1}),
            # Factor of every output row and column, where windows divide by different numbers.
            "row_weights": ("ints", False, []),
            "column_weights": ("ints", False, []),
            "requant": ("s", False, ""),
            "fused_tensors": ("s", False, ""),
        }

    @property
    def is_windowed(self) -> bool:
        """Whether it reads windows; else the whole picture."""
        return bool(self.get_nodeattr("windowed"))

    @property
    def unrolled(self) -> dict[str, str]:
        """Columns of the output; a global pool takes the columns of its input."""
        return {"ch_par": "ch", "ow_par": "ow" if self.is_windowed else "iw"}

    @property
    def role(self) -> SearchRole:
        """An engine with its window buffer; a global pool follows what feeds it."""
        return SearchRole.ENGINE if self.is_windowed else SearchRole.FOLLOWER

    def input_streams(self) -> tuple[Stream]:
        """Windows, or the picture."""
        if self.is_windowed:
            return (window_stream(self, "ch", "ch_par"),)
        return (PictureStream(*self.attrs("ih", "iw", "ch", "ow_par", "ch_par")),)

    def output_streams(self) -> tuple[PictureStream]:
        """The pooled picture. It has no more lanes than columns, so a global pool's has one."""
        oh, ow, ch, ow_par, ch_par = self.attrs("oh", "ow", "ch", "ow_par", "ch_par")
        return (PictureStream(oh, ow, ch, min(ow_par, ow), ch_par),)

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Maximum or sum of each window, then requantisation."""
        fh, fw, ch = self.attrs("fh", "fw", "ch")
        x = inputs[0]
        if not self.is_windowed:
            x = x.reshape(len(x), 1, 1, fh * fw * ch)
        windows = x.reshape(*x.shape[:3], fh * fw, ch)
        if self.get_nodeattr("kind") == "max":
            return [self.requantiser()(windows.max(axis=3))]
        rows, columns = (np.array(weights, np.int64) for weights in self.weights())
        total = windows.sum(axis=3) * rows[:, None, None] * columns[:, None]
        return [self.requantiser()(total)]

    def weights(self) -> tuple[list[int], list[int]]:
        """Factor of every output row and of every output column."""
        rows, columns, oh, ow = self.attrs("row_weights", "column_weights", "oh", "ow")
        return list(rows) or [1] * oh, list(columns) or [1] * ow

    def total_range(self, codes: Range) -> Range:
        """Range of the maximum or the sum, given that of the codes."""
        if self.get_nodeattr("kind") == "max":
            return codes
        rows, columns = self.weights()
        count = self.get_nodeattr("fh") * self.get_nodeattr("fw") * max(rows) * max(columns)
        return Range(codes.lo * count, codes.hi * count)

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised pool."""
        known = inputs[0] is not None
        return [self.requantiser().output_range(self.total_range(inputs[0])) if known else None]

    def problems(self) -> list[str]:
        """Also: a global pool covers the whole picture."""
        found = super().problems()
        ih, iw, fh, fw = self.attrs("ih", "iw", "fh", "fw")
        if not self.is_windowed and (ih, iw) != (fh, fw):
            found.append(f"a global pool of a {ih}x{iw} picture cannot have a {fh}x{fw} window")
        sizes = tuple(map(len, self.weights()))
        if sizes != self.attrs("oh", "ow"):
            found.append(f"row_weights and column_weights have {sizes} entries")
        return found
