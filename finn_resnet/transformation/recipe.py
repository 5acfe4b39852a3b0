"""The graph optimisations, named and ordered once.

Build steps, FINN steps, sweeps and benchmarks derive their lists from here.
"""

from __future__ import annotations

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.transformation.absorb_add_into_accumulator import AbsorbAddIntoAccumulator
from finn_resnet.transformation.forward_window_buffer import ForwardWindowBuffer
from finn_resnet.transformation.fuse_requant_chains import FuseRequantChains
from finn_resnet.transformation.lower_to_hardware import LowerToHardware
from finn_resnet.transformation.merge_batch_norm import MergeBatchNorm
from finn_resnet.transformation.merge_downsample_loop import MergeDownsampleLoop

LOWERING: dict[str, type[Transformation]] = {
    "merge_batch_norm": MergeBatchNorm,
    "lower_to_hardware": LowerToHardware,
    "fuse_requant_chains": FuseRequantChains,
}
"""From the quantised model to hardware nodes; always run."""

OPTIMISATIONS: dict[str, type[Transformation]] = {
    "merge_downsample": MergeDownsampleLoop,
    "forward_window_buffer": ForwardWindowBuffer,
    "absorb_add": AbsorbAddIntoAccumulator,
}
"""Of residual blocks; each may be left out."""


def lower(model: ModelWrapper) -> ModelWrapper:
    """The hardware graph of a quantised model, unoptimised."""
    return _applied(model, LOWERING)


def optimise(model: ModelWrapper) -> ModelWrapper:
    """A hardware graph with every optimisation, codes unchanged."""
    return _applied(model, OPTIMISATIONS)


def _applied(model: ModelWrapper, recipe: dict[str, type[Transformation]]) -> ModelWrapper:
    for transformation in recipe.values():
        model = model.transform(transformation())
    return model
