"""WindowBuffer: turns a picture into convolution windows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, SearchRole
from finn_resnet.custom_ops.row_window import RowWindow
from finn_resnet.custom_ops.streams import PictureStream, Stream
from finn_resnet.custom_ops.window import (
    BUFFER_STYLES,
    GEOMETRY,
    WindowOp,
    extract_windows,
    window_stream,
)
from finn_resnet.numerics.ranges import Range


class WindowBuffer(WindowOp):
    """Input [1, ih, iw, ich] -> windows [1, oh, ow, fh*fw*ich], order (fh, fw, ich).

    With ``forward`` a second output repeats the input once it has left the buffer (the paper's
    temporal reuse: the skip stream starts where the buffer ends).
    """

    role = SearchRole.SERVED
    unrolled: ClassVar = {"ich_par": "ich", "ow_par": "ow"}
    factors: ClassVar = {
        name: name for name in ("ich_par", "ow_par", "in_lanes", "link_style", "buffer_style")
    }

    def attributes(self) -> AttributeTypes:
        """``pad_value``: code of the padding; ``in_lanes``: 0 means ``ow_par``;
        ``buffer_style``: one task for every window tap (the paper's FIFO slices) or for every
        window row; ``link_style``: memory of the links too long for shift registers."""
        return {
            **GEOMETRY,
            "ich": ("i", True, 1),
            "pad_value": ("i", False, 0),
            "ich_par": ("i", False, 1),
            "ow_par": ("i", False, 1),
            "in_lanes": ("i", False, 0),
            "buffer_style": ("s", False, "slices", BUFFER_STYLES),
            "link_style": ("s", False, "bram", {"lut", "bram"}),
            "forward": ("i", False, 0, {0, 1}),
            "internal_depths": ("s", False, ""),
        }

    def lanes_in(self) -> int:
        """Number of input column lanes."""
        return self.get_nodeattr("in_lanes") or self.get_nodeattr("ow_par")

    def row_window(self) -> RowWindow:
        """Geometry of a row task."""
        iw, ow, fw, stride, pads, ow_par = self.attrs("iw", "ow", "fw", "stride", "pads", "ow_par")
        return RowWindow(iw, ow, fw, stride[1], pads[1], ow_par, self.lanes_in())

    def results(self) -> tuple[str, ...]:
        """Windows, and the forwarded picture."""
        return ("window", "forward")[: 1 + self.get_nodeattr("forward")]

    def input_streams(self) -> tuple[PictureStream]:
        """The picture, in ``in_lanes`` lanes."""
        ih, iw, ich, ich_par = self.attrs("ih", "iw", "ich", "ich_par")
        return (PictureStream(ih, iw, ich, self.lanes_in(), ich_par),)

    def output_streams(self) -> tuple[Stream, ...]:
        """Windows, and the picture again when forwarded."""
        windows = window_stream(self, "ich", "ich_par")
        return (windows, *self.input_streams())[: 1 + self.get_nodeattr("forward")]

    @property
    def relays_skip(self) -> bool:
        """A forwarded picture starts to wait here."""
        return not self.get_nodeattr("forward")

    def tail_share(self) -> float:
        """0: counted where the windows are read."""
        return 0.0

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """im2col with the padding code, and the input itself when forwarded."""
        fh, fw, stride, pads, fill = self.attrs("fh", "fw", "stride", "pads", "pad_value")
        windows = extract_windows(inputs[0], (fh, fw), stride, pads, fill)
        flat = windows.reshape(*windows.shape[:3], -1)
        return [flat, inputs[0]][: len(self.onnx_node.output)]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's, with the padding code where there is padding."""
        found = inputs[0]
        if found is None:
            return [None] * len(self.onnx_node.output)
        padded = any(self.get_nodeattr("pads"))
        window = found.including(self.get_nodeattr("pad_value")) if padded else found
        return [window, found][: len(self.onnx_node.output)]

    def problems(self) -> list[str]:
        """Also: the lanes meet every window the same way."""
        found = super().problems()
        lanes, columns = (
            self.lanes_in(),
            self.get_nodeattr("ow_par") * self.get_nodeattr("stride")[1],
        )
        if lanes < 1 or columns % lanes:
            found.append(f"in_lanes = {lanes} must divide ow_par * stride = {columns}")
        elif self.get_nodeattr("buffer_style") == "rows":
            problem = self.row_window().problem(self.get_nodeattr("fh"))
            if problem is not None:
                found.append(f"buffer_style = rows {problem}")
        return found
