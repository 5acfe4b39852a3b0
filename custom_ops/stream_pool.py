"""StreamPool: max and average pooling on exact integers."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.window import BUFFER_STYLES, GEOMETRY, WindowOp
from finn_resnet.numerics.ranges import Range


class StreamPool(WindowOp):
    """Pool a picture (global, ``windowed`` = 0) or the windows of a WindowBuffer.

    The average is the exact sum of the window; its division is part of ``requant``, or of the
    output's scale.
    """

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
            "requant": ("s", False, ""),
            "fused_tensors": ("s", False, ""),
        }

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Pooled picture."""
        return [(1, *self.attrs("oh", "ow", "ch"))]

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Maximum or sum of each window, then requantisation."""
        fh, fw, ch = self.attrs("fh", "fw", "ch")
        x = inputs[0]
        if not self.get_nodeattr("windowed"):
            x = x.reshape(len(x), 1, 1, fh * fw * ch)
        windows = x.reshape(*x.shape[:3], fh * fw, ch)
        average = self.get_nodeattr("kind") == "average"
        return [self.requantiser()(windows.sum(axis=3) if average else windows.max(axis=3))]

    def total_range(self, codes: Range) -> Range:
        """Range of the maximum or the sum, given that of the codes."""
        if self.get_nodeattr("kind") == "max":
            return codes
        count = self.get_nodeattr("fh") * self.get_nodeattr("fw")
        return Range(codes.lo * count, codes.hi * count)

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Of the requantised pool."""
        known = inputs[0] is not None
        return [self.requantiser().output_range(self.total_range(inputs[0])) if known else None]

    def problems(self) -> list[str]:
        """Geometry, unroll factors, requantiser; a global pool covers the whole picture."""
        found = [
            *self.check_geometry(),
            *self.check_parallel("ch_par", "ch"),
            *self.check_requantiser("requant"),
        ]
        ih, iw, fh, fw, windowed = self.attrs("ih", "iw", "fh", "fw", "windowed")
        if not windowed and (ih, iw) != (fh, fw):
            found.append(f"a global pool of a {ih}x{iw} picture cannot have a {fh}x{fw} window")
        return found
