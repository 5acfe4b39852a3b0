"""`BuildConfig`: everything that decides a build, checked on construction."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from finn_resnet.config.keys import (
    DEFAULT_CAPS,
    DEFAULT_OPTIMISATIONS,
    DEFAULT_PIPELINE_DEPTH_BAND,
    KEYS,
    check_key,
)
from finn_resnet.errors import UserError
from finn_resnet.top_name import check_top_name


@dataclass(frozen=True)
class BuildConfig:
    """Settings of one build; see docs/config.md for every key with its meaning and legal values.

    Fields hold checked values: numbers as int or float, lists as tuples, tables complete with
    their defaults, a key that is left out as its default or None.

    Raises:
        UserError: a value of the wrong type or out of range, or two keys that contradict.
    """

    model: str
    board: str
    output_dir: str | None = None
    mode: str = "full"
    backend: str = "hls"
    fpga_part: str | None = None
    synth_clk_period_ns: float | None = None
    target_fps: float | None = None
    folding_config_file: str | None = None
    coefficients_file: str | None = None
    caps: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_CAPS))
    allow_uram: bool = False
    optimisations: dict[str, bool | str] = field(
        default_factory=lambda: dict(DEFAULT_OPTIMISATIONS)
    )
    auto_fifo_depths: bool = True
    pipeline_depth_band: dict[str, float] = field(
        default_factory=lambda: dict(DEFAULT_PIPELINE_DEPTH_BAND)
    )
    simulation_frames: int = 4
    input_mean: tuple[float, ...] = (0.0,)
    input_std: tuple[float, ...] = (1.0,)
    verify_steps: tuple[str, ...] = ("native",)
    rtl_simulation_frames: int = 2
    verify_images: str | None = None
    verify_num_images: int | None = None
    top_name: str | None = None
    steps: tuple[str, ...] | None = None
    save_intermediate_models: bool = True

    def __new__(cls, *_values: Any, **named: Any) -> BuildConfig:
        """Refuse unknown keys with the nearest one, as in a JSON file."""
        for name in named:
            check_key(name, "BuildConfig")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for field_ in dataclasses.fields(self):
            name, value, kind = field_.name, getattr(self, field_.name), KEYS[field_.name].kind
            if value is None and field_.default is None:
                continue
            if value is None and name in ("model", "board"):
                raise UserError(f"config key {name!r} is missing, it must be {kind.legal()}")
            # Frozen after construction: the checked value replaces the raw one only here.
            object.__setattr__(self, name, kind.check(name, value))
        _refuse_contradictions(self)

    @property
    def clock_mhz(self) -> float | None:
        """Clock in MHz, None where it is left to the board."""
        period = self.synth_clk_period_ns
        # Rounded to a hertz: the period of 214.3 MHz has no exact double.
        return None if period is None else round(1000 / period, 6)

    def replace(self, **changes: Any) -> BuildConfig:
        """A copy with some keys changed, checked again."""
        return dataclasses.replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready keys and values, those left out omitted."""
        values = ((name, getattr(self, name)) for name in KEYS)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values
            if value is not None
        }


def _refuse_contradictions(config: BuildConfig) -> None:
    def refuse(one: str, other: str, why: str) -> None:
        raise UserError(f"config keys {one!r} and {other!r} contradict: {why}; leave one out")

    if config.folding_config_file is not None and config.target_fps is not None:
        refuse(
            "folding_config_file",
            "target_fps",
            f"parallelism set by hand decides the frame rate, {config.target_fps:g} cannot be met",
        )
    if 1 < len(config.input_mean) != len(config.input_std) > 1:
        refuse(
            "input_mean",
            "input_std",
            f"{len(config.input_mean)} and {len(config.input_std)} channels",
        )
    if not config.verify_steps:
        for name in ("verify_images", "verify_num_images"):
            if getattr(config, name) is not None:
                refuse("verify_steps", name, "an empty verify_steps skips verification")
    if config.backend == "rtl" and config.allow_uram:
        refuse("backend", "allow_uram", "URAM has no RTL form yet")
    if config.top_name is not None:
        check_top_name(config.top_name, config.backend)
