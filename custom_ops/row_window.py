"""How the row tasks of a window buffer walk a picture: which token leaves with which window."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from finn_resnet.custom_ops.streams import window_columns


@dataclass(frozen=True)
class RowWindow:
    """One row of a window buffer with ``buffer_style`` rows (docs/architecture.md, section 1).

    A row task takes one token from every input lane at once, a *lane group*, and keeps the last
    few. A window column is ``age`` lane groups old when the window row leaves.
    """

    iw: int
    ow: int
    fw: int
    stride_w: int
    pad_left: int
    ow_par: int
    in_lanes: int

    @property
    def columns(self) -> int:
        """Width of the window that serves ``ow_par`` neighbouring outputs."""
        return window_columns(self.fw, self.ow_par, self.stride_w)

    @property
    def lane_groups(self) -> int:
        """Lane groups of a picture row."""
        return ceil(self.iw / self.in_lanes)

    @property
    def step(self) -> int:
        """Lane groups between the windows of neighbouring column groups."""
        return self.ow_par * self.stride_w // self.in_lanes

    @property
    def lookahead(self) -> int:
        """Lane groups a window row waits for after the group it is named by."""
        return max((self.columns - 1 - self.pad_left) // self.in_lanes, 0)

    def age(self, column: int) -> int:
        """Lane groups that have come since the one that holds window column ``column``."""
        return self.lookahead - (column - self.pad_left) // self.in_lanes

    @property
    def history(self) -> int:
        """Lane groups that a row task keeps: the age of the oldest column."""
        return max(self.age(0), 0)

    @property
    def flush(self) -> int:
        """Steps (lane groups) after the last token of a frame until its last window row leaves."""
        last = (ceil(self.ow / self.ow_par) - 1) * self.step
        return max(last + self.lookahead + 1 - self.lane_groups, 0)

    def problem(self, fh: int) -> str | None:
        """Why rows of ``fh`` such windows cannot be built, None if they can."""
        if fh < 2 or self.fw < 2:
            return "needs a kernel of at least two rows and two columns"
        if self.stride_w > self.fw:
            return "needs a kernel as wide as the stride"
        if (ceil(self.ow / self.ow_par) - 1) * self.step >= self.lane_groups:
            return "needs windows that all start inside the picture"
        return None
