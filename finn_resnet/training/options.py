"""Everything that decides what the recipe trains, in one typed record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from finn_resnet.errors import UserError
from finn_resnet.training.network_shape import NetworkShape


@dataclass(frozen=True)
class TrainingOptions:
    """Options of the recipe; the defaults train an int8 ResNet8.

    `decay_epochs` (20, or all where there are fewer) are the last of the `float_epochs`: the
    learning rate is constant before them and falls linearly to zero within them. A finished run can
    thus be resumed with more epochs.
    `plateau_crop` is the side of the crops while the rate is constant: 24 saves 44 % of the
    arithmetic, and the decay epochs on whole images adapt the network to their size.
    `blocks` (residual blocks of every stage) takes the place of `depth` where it is given; `width`
    is the first stage's number of channels (`NetworkShape`).
    """

    data: Path
    output_dir: Path
    depth: int = 8
    blocks: tuple[int, ...] | None = None
    width: int = 16
    float_epochs: int = 60
    decay_epochs: int | None = None
    quantised_epochs: int = 6
    batch_size: int = 128
    plateau_crop: int = 32
    learning_rate: float = 0.15
    quantised_learning_rate: float = 0.002
    weight_decay: float = 2e-4
    weight_bits: int = 8
    activation_bits: int = 8
    calibration_images: int = 1024
    seed: int = 1
    threads: int | None = None
    bf16: bool = False
    teacher: Path | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        """Raises UserError on values no run can use."""
        _ = self.shape
        if self.decay_epochs is None:
            # Frozen: the default is filled in only here.
            object.__setattr__(self, "decay_epochs", max(1, min(20, self.float_epochs)))
        if self.float_epochs < 1 or not 0 < self.decay_epochs <= self.float_epochs:
            raise UserError(
                f"decay_epochs {self.decay_epochs} must lie between 1 and float_epochs "
                f"{self.float_epochs}"
            )
        if self.quantised_epochs < 0:
            raise UserError(f"quantised_epochs {self.quantised_epochs} is negative")
        for name in ("weight_bits", "activation_bits"):
            if not 2 <= getattr(self, name) <= 8:
                raise UserError(f"{name} {getattr(self, name)} is outside 2 to 8")
        if not 8 <= self.plateau_crop <= 32 or self.plateau_crop % 4:
            raise UserError(f"plateau_crop {self.plateau_crop} is not a multiple of 4 in 8 to 32")
        if self.batch_size < 2:
            raise UserError(f"batch_size {self.batch_size} is below 2 (batch statistics)")

    @property
    def shape(self) -> NetworkShape:
        """Of the network. Raises UserError as `NetworkShape`."""
        if self.blocks is None:
            return NetworkShape.of_depth(self.depth, self.width)
        return NetworkShape(tuple(self.blocks), self.width)

    @property
    def name(self) -> str:
        """`resnet8` for int8, `resnet8_w4a4` for other bits; names all files of the run."""
        if (self.weight_bits, self.activation_bits) == (8, 8):
            return self.shape.name
        return f"{self.shape.name}_w{self.weight_bits}a{self.activation_bits}"
