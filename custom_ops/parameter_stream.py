"""ParameterStream: the task that feeds a convolution its weights, one token per cycle."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, HardwareOp
from finn_resnet.numerics.ranges import Range

MEM_STYLES = {"lut", "bram", "uram"}
MEM_MODES = {"internal_decoupled", "internal_embedded"}
"""FINN's names: weights come from a task over a stream, or lie in the computation task."""


class ParameterStream(HardwareOp):
    """Weights initialiser [och, fh, fw, ich] -> the same tensor as a stream.

    ``repeats`` is how often a frame reads the whole memory: oh * ceil(ow / ow_par).
    """

    def attributes(self) -> AttributeTypes:
        """``bits``: width of a weight."""
        return {
            "och": ("i", True, 1),
            "ich": ("i", True, 1),
            "fh": ("i", True, 1),
            "fw": ("i", True, 1),
            "och_par": ("i", False, 1),
            "ich_par": ("i", False, 1),
            "repeats": ("i", True, 1),
            "bits": ("i", True, 8),
            "mem_style": ("s", False, "bram", MEM_STYLES),
            "mem_mode": ("s", False, "internal_decoupled", MEM_MODES),
        }

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shape of the weights."""
        return [self.attrs("och", "fh", "fw", "ich")]

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The weights."""
        return [inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The weights'."""
        return [inputs[0]]

    def problems(self) -> list[str]:
        """Extents and unroll factors."""
        return [
            *self.check_positive("och", "ich", "fh", "fw", "repeats", "bits"),
            *self.check_parallel("och_par", "och"),
            *self.check_parallel("ich_par", "ich"),
            *self._check_contents(),
        ]

    def _check_contents(self) -> list[str]:
        embedded = self.get_nodeattr("mem_mode") == "internal_embedded"
        if embedded and self.get_nodeattr("mem_style") == "uram":
            return ["mem_style uram is filled over a stream: mem_mode must be internal_decoupled"]
        return []
