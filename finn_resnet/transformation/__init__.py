"""Graph transformations, one class and module each; all keep the graph executable."""

from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbAddIntoAccumulator
from finn_resnet.transformation.forward_window_buffer import ForwardWindowBuffer
from finn_resnet.transformation.fuse_requant_chains import FuseRequantChains
from finn_resnet.transformation.insert_width_adapters import (
    InsertWidthAdapters,
    RemoveWidthAdapters,
)
from finn_resnet.transformation.lower_to_hardware import LowerToHardware
from finn_resnet.transformation.merge_batch_norm import MergeBatchNorm
from finn_resnet.transformation.merge_downsample_loop import MergeDownsampleLoop
from finn_resnet.transformation.recipe import LOWERING, OPTIMISATIONS, lower, optimise
from finn_resnet.transformation.set_stream_depths import SetStreamDepths

__all__ = [
    "LOWERING",
    "OPTIMISATIONS",
    "AbsorbAddIntoAccumulator",
    "ForwardWindowBuffer",
    "FuseRequantChains",
    "InsertWidthAdapters",
    "LowerToHardware",
    "MergeBatchNorm",
    "MergeDownsampleLoop",
    "RemoveWidthAdapters",
    "SetStreamDepths",
    "lower",
    "optimise",
]
