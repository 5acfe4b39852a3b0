"""Reading hardware graphs into engines, followers and edges."""

from finn_resnet.parallelism.network import Side, read_network
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    LowerToHardware,
    MergeDownsampleLoop,
)
from tests.random_networks import Features, random_network


def test_a_follower_of_a_forwarded_picture_may_come_before_the_convolution():
    """The requantiser of a skip stands before the convolution whose buffer forwards to it."""
    features = Features(batch_norm=False, free_scales=True, off_grid_bias=False, roundings=False)
    model = random_network(46, features)
    for step in (
        LowerToHardware(),
        FuseRequantChains(),
        MergeDownsampleLoop(),
        ForwardWindowBuffer(),
        AbsorbAddIntoAccumulator(),
    ):
        model = model.transform(step)
    network = read_network(model)
    names = [engine.name for engine in network.engines]
    forwarded = {
        name: names.index(engine.name)
        for engine in network.engines
        if engine.buffer is not None
        for name in engine.buffer.output[1:]
    }
    followers = [
        (forwarded[node.input[0]], side)
        for node, side in network.followers
        if node.input[0] in forwarded
    ]
    assert followers
    assert all(side == Side(engine, "in") for engine, side in followers)
