"""ParameterStream: the task that feeds a convolution its weights, one token per cycle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from finn_resnet.custom_ops.base import AttributeTypes, HardwareOp, Operand, SearchRole
from finn_resnet.custom_ops.streams import WeightStream
from finn_resnet.numerics.ranges import Range

MEM_STYLES = {"lut", "bram", "uram"}
MEM_MODES = {"internal_decoupled", "internal_embedded"}
"""FINN's names: weights come from a task over a stream, or lie in the computation task."""


class ParameterStream(HardwareOp):
    """Weights initialiser [och, fh, fw, ich] -> the same tensor as a stream.

    ``repeats`` is how often a frame reads the whole memory: oh * ceil(ow / ow_par).
    """

    role = SearchRole.SERVED
    extents = ("och", "ich", "fh", "fw", "repeats", "bits")
    unrolled: ClassVar = {"och_par": "och", "ich_par": "ich"}
    factors: ClassVar = {"mem_mode": "mem_mode"}
    weights = Operand()

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

    def operands(self) -> tuple[str, ...]:
        """The initialiser."""
        return ("weights",)

    def results(self) -> tuple[str, ...]:
        """The stream of weights."""
        return ("stream",)

    def input_streams(self) -> tuple[None]:
        """The weights are a constant."""
        return (None,)

    def output_streams(self) -> tuple[WeightStream]:
        """Every weight, ``repeats`` times a frame."""
        names = ("och", "fh", "fw", "ich", "och_par", "ich_par", "repeats")
        return (WeightStream(*self.attrs(*names)),)

    @property
    def is_embedded(self) -> bool:
        """Whether the memory lies in the computation task, which leaves no stream."""
        return self.get_nodeattr("mem_mode") == "internal_embedded"

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The weights."""
        return [inputs[0]]

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """The weights'."""
        return [inputs[0]]

    def problems(self) -> list[str]:
        """Also: URAM has no initial contents."""
        if self.is_embedded and self.get_nodeattr("mem_style") == "uram":
            why = "mem_style uram is filled over a stream: mem_mode must be internal_decoupled"
            return [*super().problems(), why]
        return super().problems()
