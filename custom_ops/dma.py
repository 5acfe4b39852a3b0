"""Memory boundary nodes: AXI4-Stream beats on one side, code tokens on the other."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes
from finn_resnet.custom_ops.elementwise import _PARALLEL, _PICTURE, ElementwiseOp
from finn_resnet.numerics.ranges import Range


class BoundaryDMA(ElementwiseOp):
    """Frames of codes, ``code_bytes`` each, NHWC, packed into beats of ``beat_bytes``."""

    def attributes(self) -> AttributeTypes:
        """See class; ``signed`` tells how a code's bytes are extended."""
        return {
            **_PICTURE,
            **_PARALLEL,
            "code_bytes": ("i", False, 1, {1, 2, 4}),
            "signed": ("i", True, 1, {0, 1}),
            "beat_bytes": ("i", False, 16),
        }

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The same codes."""
        return [inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The input's."""
        return [inputs[0]]


class InputDMA(BoundaryDMA):
    """Beats from memory -> stream of input codes."""


class OutputDMA(BoundaryDMA):
    """Stream of output codes -> beats to memory, TLAST on a frame's last beat."""
