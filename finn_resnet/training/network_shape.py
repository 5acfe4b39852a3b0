"""The shape of a CIFAR-type ResNet: residual blocks of every stage and channels of the first."""

from __future__ import annotations

from dataclasses import dataclass

from finn_resnet.errors import UserError


@dataclass(frozen=True)
class NetworkShape:
    """`blocks[s]` residual blocks of two convolutions in stage s, of `width * 2**s` channels.

    Every stage but the first halves the picture. Three stages of n blocks and width 16 are the
    ResNets of depth 6n+2 of the CIFAR experiments. Raises UserError where no network has the shape.
    """

    blocks: tuple[int, ...] = (1, 1, 1)
    width: int = 16

    def __post_init__(self) -> None:
        """See class."""
        if not 1 <= len(self.blocks) <= 5 or min(self.blocks) < 1:
            raise UserError(
                f"blocks {self.blocks} must be 1 to 5 numbers of at least 1, one for each stage "
                "(32x32 pictures can be halved four times)"
            )
        if self.width < 1:
            raise UserError(f"width {self.width} is below 1 channel")

    @classmethod
    def of_depth(cls, depth: int, width: int = 16) -> NetworkShape:
        """Three equal stages. Raises UserError unless `depth` is 6n+2."""
        if depth < 8 or (depth - 2) % 6:
            raise UserError(
                f"depth {depth} is not of the form 6n+2 (8, 14, 20, 26, 32, ...); `blocks` gives "
                "the blocks of every stage"
            )
        return cls(((depth - 2) // 6,) * 3, width)

    @property
    def depth(self) -> int:
        """Weighted layers on the main path: stem, two of a block, classifier."""
        return 2 * sum(self.blocks) + 2

    @property
    def channels(self) -> tuple[int, ...]:
        """Channels of every stage."""
        return tuple(self.width << stage for stage in range(len(self.blocks)))

    @property
    def name(self) -> str:
        """`resnet8`; `resnet10_2-1-1` for unequal stages, `resnet8_c32` for another width."""
        plain = self.blocks == self.blocks[:1] * 3
        stages = "" if plain else "_" + "-".join(map(str, self.blocks))
        return f"resnet{self.depth}{stages}" + (f"_c{self.width}" if self.width != 16 else "")

    def block_shapes(self) -> list[tuple[int, int, int]]:
        """(input channels, output channels, stride) of every block, in order."""
        shapes = []
        ich = self.width
        for stage, (count, och) in enumerate(zip(self.blocks, self.channels, strict=True)):
            for index in range(count):
                shapes.append((ich, och, 2 if stage > 0 and index == 0 else 1))
                ich = och
        return shapes
