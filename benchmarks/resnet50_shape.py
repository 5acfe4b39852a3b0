"""Time of the parallelism search and of stream sizing on a network of ResNet50's shape.

    python -m benchmarks.resnet50_shape [--width 8] [--board KV260]   (from the checkout's root)

53 convolutions in bottleneck blocks 3-4-6-3 on 32x32 pictures, with random weights. ``--width`` is
the first stage's width; ResNet50 itself has 64, whose weights no supported board holds.
"""

from __future__ import annotations

import argparse
import json
import time

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import load_board
from finn_resnet.parallelism import AnnotateParallelism, estimate
from finn_resnet.simulation.size_streams import SizeStreams
from finn_resnet.transformation import (
    OPTIMISATIONS,
    FuseRequantChains,
    InsertWidthAdapters,
    LowerToHardware,
    SetStreamDepths,
)
from tests.qonnx_models import ModelBuilder

BLOCKS = (3, 4, 6, 3)
EXPANSION = 4


def bottleneck(net: ModelBuilder, x: str, ich: int, width: int, stride: int) -> str:
    """1x1, 3x3, 1x1 convolutions and the skip, with a 1x1 downsample where the shape changes."""
    och = EXPANSION * width
    inner = net.relu(net.conv(x, ich, width, 1))
    inner = net.relu(net.conv(inner, width, width, 3, stride))
    main = net.quant(net.conv(inner, width, och, 1), -5)
    skip = x
    if (ich, stride) != (och, 1):
        skip = net.quant(net.conv(x, ich, och, 1, stride), -5)
    return net.relu(net.node("Add", [main, skip]))


def resnet50_shape(width: int) -> ModelWrapper:
    """The network as QONNX."""
    net = ModelBuilder(50)
    x = net.relu(net.conv(net.quant("image", -7), 3, width, 3))
    channels = width
    for stage, blocks in enumerate(BLOCKS):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = bottleneck(net, x, channels, width << stage, stride)
            channels = EXPANSION * (width << stage)
    x = net.quant(net.node("GlobalAveragePool", [x]), -5, signed=False)
    x = net.quant(net.conv(x, channels, 10, 1), -4)
    return net.model(x, [1, 3, 32, 32], [1, 10, 1, 1])


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--board", default="KV260")
    parser.add_argument("--mode", default="paper", choices=["paper", "full"])
    arguments = parser.parse_args()
    board = load_board(arguments.board)
    size = SizeStreams()
    steps = {
        "lower_s": [LowerToHardware(), FuseRequantChains()],
        "optimise_s": [kind() for kind in OPTIMISATIONS.values()],
        "parallelism_s": [AnnotateParallelism(board, arguments.mode, allow_uram=True)],
        "adapters_s": [InsertWidthAdapters(), SetStreamDepths()],
        "size_streams_s": [size],
    }
    model = resnet50_shape(arguments.width)
    convolutions = sum(node.op_type == "Conv" for node in model.graph.node)
    row: dict[str, object] = {"convolutions": convolutions, **vars(arguments)}
    for name, transformations in steps.items():
        start = time.perf_counter()
        for transformation in transformations:
            model = model.transform(transformation)
        row[name] = round(time.perf_counter() - start, 1)
        print(name, row[name], flush=True)
    row["model_cycles_per_frame"] = estimate(model, board).cycles_per_frame
    print(json.dumps(row))


if __name__ == "__main__":
    main()
