"""Cost model and choice of unroll factors."""

from finn_resnet.parallelism.annotate_parallelism import AnnotateParallelism
from finn_resnet.parallelism.apply_folding import ApplyFolding, export_folding
from finn_resnet.parallelism.estimate import Estimate, LayerEstimate, estimate

__all__ = [
    "AnnotateParallelism",
    "ApplyFolding",
    "Estimate",
    "LayerEstimate",
    "estimate",
    "export_folding",
]
