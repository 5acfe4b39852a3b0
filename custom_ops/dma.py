"""Memory boundary nodes: AXI4-Stream beats on one side, code tokens on the other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, SearchRole, WriteOrder
from finn_resnet.custom_ops.elementwise import PARALLEL, PICTURE, ElementwiseOp
from finn_resnet.custom_ops.streams import BeatStream
from finn_resnet.numerics.ranges import Range


class BoundaryDMA(ElementwiseOp):
    """Frames of codes, ``code_bytes`` each, NHWC, packed into beats of ``beat_bytes``."""

    def attributes(self) -> AttributeTypes:
        """See class; ``signed`` tells how a code's bytes are extended."""
        return {
            **PICTURE,
            **PARALLEL,
            "code_bytes": ("i", False, 1, {1, 2, 4}),
            "signed": ("i", True, 1, {0, 1}),
            "beat_bytes": ("i", False, 16),
        }

    @property
    def beats(self) -> BeatStream:
        """The memory side."""
        return BeatStream(*self.attrs("h", "w", "ch", "code_bytes", "beat_bytes"))

    @property
    def relays_skip(self) -> bool:
        """Data starts and ends here."""
        return False

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The same codes."""
        return [inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]]


class InputDMA(BoundaryDMA):
    """Beats from memory -> stream of input codes."""

    role = SearchRole.ENGINE
    write_order = WriteOrder.LANES_IN_TURN
    factors: ClassVar = {"och_par": "ch_par", "ow_par": "lanes"}

    def input_streams(self) -> tuple[BeatStream]:
        """Beats."""
        return (self.beats,)


class OutputDMA(BoundaryDMA):
    """Stream of output codes -> beats to memory, TLAST on a frame's last beat."""

    def output_streams(self) -> tuple[BeatStream]:
        """Beats."""
        return (self.beats,)
