"""The window geometry shared by convolutions, pools and their window buffers."""

from __future__ import annotations

from math import ceil

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, HardwareOp
from finn_resnet.custom_ops.streams import WindowStream

GEOMETRY: AttributeTypes = {
    "ih": ("i", True, 1),
    "iw": ("i", True, 1),
    "oh": ("i", True, 1),
    "ow": ("i", True, 1),
    "fh": ("i", True, 1),
    "fw": ("i", True, 1),
    "stride": ("ints", True, [1, 1]),
    "pads": ("ints", True, [0, 0, 0, 0]),
}
"""Sizes, stride [vertical, horizontal] and pads [top, left, bottom, right]."""


BUFFER_STYLES = {"slices", "rows"}
"""A window buffer has a task for every tap, or one for every window row."""


def output_size(size: int, kernel: int, stride: int, pads: int) -> int:
    """Number of window positions along one axis (floor mode)."""
    return (size + pads - kernel) // stride + 1


def used_columns(fw: int, ow_par: int, stride_w: int) -> list[int]:
    """Those columns that some output reads (a stride wider than the kernel leaves gaps)."""
    return sorted({lane * stride_w + j for lane in range(ow_par) for j in range(fw)})


def extract_windows(
    x: np.ndarray, kernel: tuple[int, int], stride: list[int], pads: list[int], fill: int
) -> np.ndarray:
    """All windows of a picture.

    Args:
        x: codes ``[N, H, W, C]``.
        kernel: (fh, fw).
        stride: [vertical, horizontal].
        pads: [top, left, bottom, right].
        fill: code of the padding.

    Returns:
        ``[N, OH, OW, fh, fw, C]``.
    """
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(1, 2))
    return views[:, :: stride[0], :: stride[1]].transpose(0, 1, 2, 4, 5, 3)


class WindowOp(HardwareOp):
    """Base of the nodes with a window geometry."""

    extents = ("ih", "iw", "oh", "ow", "fh", "fw")

    def tail_share(self) -> float:
        """Share of the output rows whose windows reach the last input row."""
        ih, oh, fh, stride, pads = self.attrs("ih", "oh", "fh", "stride", "pads")
        # Row r reads input rows r * stride - top .. r * stride - top + fh - 1.
        first = max(0, ceil((ih - 1 + pads[0] - (fh - 1)) / stride[0]))
        return (oh - min(first, oh)) / oh

    def problems(self) -> list[str]:
        """Also: sizes, stride and pads fit each other."""
        found = super().problems()
        ih, iw, oh, ow, fh, fw, stride, pads = self.attrs(
            "ih", "iw", "oh", "ow", "fh", "fw", "stride", "pads"
        )
        if len(stride) != 2 or min(stride) < 1:
            return [*found, f"stride = {stride} must be two positive numbers"]
        if len(pads) != 4 or min(pads) < 0:
            return [*found, f"pads = {pads} must be four non-negative numbers"]
        expected = (
            output_size(ih, fh, stride[0], pads[0] + pads[2]),
            output_size(iw, fw, stride[1], pads[1] + pads[3]),
        )
        if (oh, ow) != expected:
            found.append(f"oh, ow = {(oh, ow)} but the geometry gives {expected}")
        return found


def window_stream(op: WindowOp, channels: str, parallel: str | int) -> WindowStream:
    """The windows of ``op``, whose channels and their unroll factor are the attributes named.

    A number is the unroll factor itself.
    """
    oh, ow, fh, fw, stride, ow_par = op.attrs("oh", "ow", "fh", "fw", "stride", "ow_par")
    ch = op.get_nodeattr(channels)
    ch_par = op.get_nodeattr(parallel) if isinstance(parallel, str) else parallel
    rows = op.get_nodeattr("buffer_style") == "rows"
    return WindowStream(oh, ow, fh, fw, ch, stride[1], ow_par, ch_par, rows)
