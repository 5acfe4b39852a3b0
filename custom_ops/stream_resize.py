"""StreamResize: every pixel several times, in both directions (nearest neighbour)."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.elementwise import PARALLEL, PICTURE, ElementwiseOp
from finn_resnet.custom_ops.streams import PictureStream
from finn_resnet.numerics.ranges import Range


class StreamResize(ElementwiseOp):
    """Nearest-neighbour enlargement by whole factors.

    Output row ``i``, column ``j`` is input row ``i // rows``, column ``j // columns``.
    """

    extents = ("h", "w", "ch", "rows", "columns")

    def attributes(self) -> AttributeTypes:
        """``h``, ``w``: of the input; ``rows``, ``columns``: how often each one is repeated."""
        return {**PICTURE, **PARALLEL, "rows": ("i", True, 1), "columns": ("i", True, 1)}

    def output_streams(self) -> tuple[PictureStream]:
        """The larger picture, in as many lanes."""
        h, w, ch, rows, columns, lanes, ch_par = self.attrs(
            "h", "w", "ch", "rows", "columns", "lanes", "ch_par"
        )
        return (PictureStream(h * rows, w * columns, ch, lanes, ch_par),)

    @property
    def relays_skip(self) -> bool:
        """A branch waits behind it: what comes before has another size."""
        return False

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Repeated rows and columns."""
        rows, columns = self.attrs("rows", "columns")
        return [inputs[0].repeat(rows, axis=1).repeat(columns, axis=2)]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]]
