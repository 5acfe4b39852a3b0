"""Requantisers: the monotone integer maps from one code to the next.

A requantiser is a list of stages applied in order. Channels lie on the last axis. The JSON form is
what node attributes carry and what the C++ generator reads (docs/architecture.md, section 2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

import numpy as np

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.rounding import ROUNDING_MODES, round_shift


@dataclass(frozen=True)
class ShiftStage:
    """``clip(round(x * 2**-shift), lo, hi)``: a QONNX Quant between power-of-two scales."""

    kind: ClassVar[str] = "shift"
    shift: int
    rounding: str
    lo: int
    hi: int

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDING_MODES:
            raise ValueError(f"rounding {self.rounding!r} is not one of {ROUNDING_MODES}")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.clip(round_shift(x, self.shift, self.rounding), self.lo, self.hi)

    def clipped(self, lo: int, hi: int) -> ShiftStage:
        """This stage followed by ``clip(., lo, hi)``."""
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True)
class AffineStage:
    """``clip((x * mult[c] + add[c]) >> shift, lo, hi)`` with a floor shift, per channel."""

    kind: ClassVar[str] = "affine"
    mult: tuple[int, ...]
    add: tuple[int, ...]
    shift: int
    lo: int
    hi: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        scaled = np.asarray(x, np.int64) * np.array(self.mult, np.int64)
        return np.clip((scaled + np.array(self.add, np.int64)) >> self.shift, self.lo, self.hi)

    def clipped(self, lo: int, hi: int) -> AffineStage:
        """This stage followed by ``clip(., lo, hi)``."""
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True)
class ThresholdStage:
    """``base + count(t <= sign[c] * x for t in thresholds[c])``: any monotone step function."""

    kind: ClassVar[str] = "threshold"
    base: int
    sign: tuple[int, ...]
    thresholds: tuple[tuple[int, ...], ...] = field(repr=False)

    @property
    def lo(self) -> int:
        """Lowest code."""
        return self.base

    @property
    def hi(self) -> int:
        """Highest code."""
        return self.base + len(self.thresholds[0])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, np.int64) * np.array(self.sign, np.int64)
        table = np.array(self.thresholds, np.int64).reshape(len(self.thresholds), -1)
        if len(table) == 1:
            return self.base + np.searchsorted(table[0], x, side="right")
        out = np.empty_like(x)
        for channel, row in enumerate(table):
            out[..., channel] = self.base + np.searchsorted(row, x[..., channel], side="right")
        return out

    def clipped(self, lo: int, hi: int) -> ThresholdStage:
        """This stage followed by ``clip(., lo, hi)``."""
        if lo > self.hi or hi < self.lo:
            raise ValueError("clipping a threshold stage to a range it never reaches")
        first, last = max(lo, self.lo) - self.base, min(hi, self.hi) - self.base
        kept = tuple(row[first:last] for row in self.thresholds)
        return replace(self, base=max(lo, self.base), thresholds=kept)


Stage = ShiftStage | AffineStage | ThresholdStage
_KINDS = {cls.kind: cls for cls in (ShiftStage, AffineStage, ThresholdStage)}


def _as_tuples(value: object) -> object:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Requantiser:
    """Stages applied in order; no stage at all is the identity."""

    stages: tuple[Stage, ...] = ()

    @classmethod
    def of(cls, stages: Iterable[Stage]) -> Requantiser:
        """Requantiser of any iterable of stages."""
        return cls(tuple(stages))

    @classmethod
    def from_json(cls, text: str) -> Requantiser:
        """Read the node-attribute form; the empty string is the identity.

        Raises:
            ValueError: the text is not a list of known stages.
        """
        stages = []
        for entry in json.loads(text) if text else []:
            entry = dict(entry)
            kind = entry.pop("kind", None)
            if kind not in _KINDS:
                raise ValueError(f"unknown requantiser stage {kind!r}; one of {sorted(_KINDS)}")
            stages.append(_KINDS[kind](**{k: _as_tuples(v) for k, v in entry.items()}))
        return cls(tuple(stages))

    def to_json(self) -> str:
        """Node-attribute form, the inverse of `from_json`."""
        if not self.stages:
            return ""
        return json.dumps([{"kind": stage.kind, **asdict(stage)} for stage in self.stages])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Apply to int64 codes; channels on the last axis."""
        x = np.asarray(x, dtype=np.int64)
        for stage in self.stages:
            x = stage(x)
        return x

    def then(self, other: Requantiser) -> Requantiser:
        """This map followed by ``other``."""
        return Requantiser(self.stages + other.stages)

    @property
    def is_identity(self) -> bool:
        """True without any stage."""
        return not self.stages

    @property
    def channels(self) -> int:
        """Number of per-channel entries, 1 when every stage is the same for all channels."""
        return max((_stage_channels(stage) for stage in self.stages), default=1)

    def of_channel(self, channel: int) -> Requantiser:
        """The map of one channel, with per-channel lists reduced to length 1."""
        return Requantiser.of(_stage_of_channel(stage, channel) for stage in self.stages)

    def output_range(self, inputs: Range) -> Range:
        """Range of the output codes over inputs in ``inputs`` (monotone, so the ends decide)."""
        if self.is_identity:
            return inputs
        ends = np.array([[inputs.lo], [inputs.hi]], np.int64)
        out = self(np.repeat(ends, self.channels, axis=1))
        return Range(int(out.min()), int(out.max()))


def _stage_channels(stage: Stage) -> int:
    if isinstance(stage, AffineStage):
        return max(len(stage.mult), len(stage.add))
    if isinstance(stage, ThresholdStage):
        return max(len(stage.thresholds), len(stage.sign))
    return 1


def _pick(values: Sequence, channel: int) -> tuple:
    return (values[channel],) if len(values) > 1 else tuple(values)


def _stage_of_channel(stage: Stage, channel: int) -> Stage:
    if isinstance(stage, AffineStage):
        return replace(stage, mult=_pick(stage.mult, channel), add=_pick(stage.add, channel))
    if isinstance(stage, ThresholdStage):
        rows = _pick(stage.thresholds, channel)
        return replace(stage, sign=_pick(stage.sign, channel), thresholds=rows)
    return stage
