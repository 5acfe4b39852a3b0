"""The float network: CIFAR-type ResNets, in the shape the accelerator streams.

Every convolution is followed by batch normalisation; a block is conv-BN-ReLU, conv-BN, Add, ReLU.
The first block of every stage but the first halves the image and doubles the channels, its skip
branch is a 1x1 convolution of stride two ("option B").

Modules that produce a tensor the quantised network will round have the names of its quantisers
(`relu`, `first_relu`, `downsample`, `pool`, `classifier`): calibration goes by name.
"""

from __future__ import annotations

from torch import Tensor, nn

from finn_resnet.training.network_shape import NetworkShape

IMAGE_SIZE = 32


class ConvNorm(nn.Module):
    """Convolution without bias, then batch normalisation: [N, ich, ih, iw] -> [N, och, oh, ow]."""

    def __init__(self, ich: int, och: int, kernel: int, stride: int = 1) -> None:
        """Square kernel, padded to keep the size at stride 1."""
        super().__init__()
        self.conv = nn.Conv2d(ich, och, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(och)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        return self.norm(self.conv(x))


class Block(nn.Module):
    """Basic residual block; `downsample` is None where the skip is the identity."""

    def __init__(self, ich: int, och: int, stride: int) -> None:
        """Channels in and out; `stride` of the first convolution and of the downsample."""
        super().__init__()
        self.first = ConvNorm(ich, och, 3, stride)
        self.first_relu = nn.ReLU()
        self.second = ConvNorm(och, och, 3)
        changes_shape = stride != 1 or ich != och
        self.downsample = ConvNorm(ich, och, 1, stride) if changes_shape else None
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """[N, ich, ih, iw] -> [N, och, oh, ow]."""
        skip = x if self.downsample is None else self.downsample(x)
        return self.relu(self.second(self.first_relu(self.first(x))) + skip)


class ResNet(nn.Module):
    """Float ResNet: images [N, 3, 32, 32] in [0, 1] -> logits [N, classes]."""

    def __init__(self, shape: NetworkShape, classes: int = 10) -> None:
        """Random parameters, drawn from PyTorch's global generator."""
        super().__init__()
        self.shape, self.classes = shape, classes
        self.stem = ConvNorm(3, shape.width, 3)
        self.relu = nn.ReLU()
        self.blocks = nn.Sequential(*(Block(*block) for block in shape.block_shapes()))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(shape.channels[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        x = self.pool(self.blocks(self.relu(self.stem(x))))
        return self.classifier(x.flatten(1))
