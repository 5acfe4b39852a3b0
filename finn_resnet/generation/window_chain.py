"""The slices, links and tap streams of a window buffer."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from finn_resnet.custom_ops.streams import window_columns
from finn_resnet.custom_ops.window import used_columns


@dataclass(frozen=True)
class WindowShape:
    """Geometry and unroll factors of a WindowBuffer node (docs/architecture.md, section 1)."""

    ich: int
    ih: int
    iw: int
    oh: int
    ow: int
    fh: int
    fw: int
    stride: tuple[int, int]
    pads: tuple[int, int, int, int]
    ich_par: int
    ow_par: int
    in_lanes: int
    forward: bool

    @property
    def columns(self) -> int:
        """Width of the window that serves ``ow_par`` neighbouring outputs."""
        return window_columns(self.fw, self.ow_par, self.stride[1])

    @property
    def groups(self) -> int:
        """Tokens per pixel."""
        return ceil(self.ich / self.ich_par)

    @property
    def used_columns(self) -> list[int]:
        """Window columns that some output reads (a stride wider than the kernel leaves gaps)."""
        return used_columns(self.fw, self.ow_par, self.stride[1])

    def lane_of(self, column: int) -> int:
        """Input lane that window column ``column`` reads."""
        return (column - self.pads[1]) % self.in_lanes

    def lane_columns(self, lane: int) -> int:
        """Picture columns that travel in ``lane``."""
        return len(range(lane, self.iw, self.in_lanes))

    @property
    def is_wire(self) -> bool:
        """A 1x1 window of one lane, stride 1, is its input token: no hardware is needed."""
        pointwise = self.fh == self.fw == self.ow_par == self.in_lanes == 1
        plain = self.stride == (1, 1) and not any(self.pads) and not self.forward
        return pointwise and plain and (self.oh, self.ow) == (self.ih, self.iw)


@dataclass(frozen=True)
class Slice:
    """One FIFO slice task: tap ``(row, column)`` and the slice that feeds it.

    ``previous`` is the tap of the newer slice, None for the newest, which reads the input lane.
    ``link_depth`` is the number of tokens between the two (0 for the newest).
    """

    row: int
    column: int
    previous: tuple[int, int] | None
    link_depth: int
    is_last: bool


@dataclass(frozen=True)
class Chain:
    """The slices of one input lane, newest first; none if no window reads the lane."""

    lane: int
    slices: tuple[Slice, ...]

    @property
    def tokens(self) -> int:
        """Tokens the chain's links hold (eq. 20 and 21 of the paper, per lane)."""
        return sum(item.link_depth for item in self.slices)


def window_chains(shape: WindowShape) -> list[Chain]:
    """Chains of all input lanes, by lane, each from the newest tap to the oldest.

    Taps of one residue class of the column (modulo ``in_lanes``) see the same lane. A link holds
    the tokens that lie between its two taps: S1 within a row, the rest of the row (S2) across.
    """
    chains = []
    for lane in range(shape.in_lanes):
        columns = [j for j in shape.used_columns if shape.lane_of(j) == lane]
        taps = [(i, j) for i in reversed(range(shape.fh)) for j in reversed(columns)]
        chains.append(Chain(lane, tuple(_slices(shape, lane, taps))))
    return chains


def tap_depth(shape: WindowShape) -> int:
    """Depth of the tap streams: 2, and the pixels a tap has to hold ready ahead of its turn.

    Where the window is wider than the picture's row, a tap further down the chain waits for a
    *newer* token than this one, and what this tap offers meanwhile must fit its stream, or the
    chain would block itself. The same happens where lanes have unequal numbers of columns
    (`_pixels_ahead`).
    """
    wait = max(_pixels_ahead(shape, chain) for chain in window_chains(shape))
    for chain in window_chains(shape):
        row = shape.lane_columns(chain.lane)
        ages = [s.row * row + s.column // shape.in_lanes for s in chain.slices]
        for newer, age in enumerate(ages):
            wait = max(wait, *(later - age for later in ages[newer:]))
    return 2 + wait * shape.groups


def _pixels_ahead(shape: WindowShape, chain: Chain) -> int:
    """Pixels a tap that sits out some windows of a row must take before the newer taps go on.

    A tap outside the picture in the last windows of a row already offers its first pixel of the
    next row and stops its slice there. Every newer tap must still reach its own last pixel, and
    all that lies between the two has to fit the links.
    """
    reach = [_pixels_needed(shape, chain.lane, item) for item in chain.slices]
    ahead = 0
    for older, needed in enumerate(reach):
        waiting = [next((p for p in needed[t:] if p is not None), None) for t in range(len(needed))]
        room = 0
        for newer in reversed(range(older)):
            room += chain.slices[newer + 1].link_depth // shape.groups
            for own, stopped, there in zip(needed, waiting, reach[newer], strict=True):
                if own is None and None not in (stopped, there):
                    ahead = max(ahead, there + 1 - stopped - room)
    return ahead


def _pixels_needed(shape: WindowShape, lane: int, item: Slice) -> list[int | None]:
    """Pixel of the lane that a tap gives each window of two rows, None outside the picture."""
    row = shape.lane_columns(lane)
    step = shape.ow_par * shape.stride[1]
    pixels: list[int | None] = []
    for window_row in range(2):
        for group in range(ceil(shape.ow / shape.ow_par)):
            column = group * step + item.column - shape.pads[1]
            inside = 0 <= column < shape.iw
            top = (window_row * shape.stride[0] + item.row) * row
            pixels.append(top + column // shape.in_lanes if inside else None)
    return pixels


def _slices(shape: WindowShape, lane: int, taps: list[tuple[int, int]]) -> list[Slice]:
    slices = []
    for index, (row, column) in enumerate(taps):
        previous = taps[index - 1] if index else None
        depth = 0
        if previous is not None:
            rows, columns = previous[0] - row, previous[1] - column
            distance = rows * shape.lane_columns(lane) + columns // shape.in_lanes
            depth = max(distance * shape.groups, 1)
        slices.append(Slice(row, column, previous, depth, index == len(taps) - 1))
    return slices
