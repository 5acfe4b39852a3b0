"""Cost model and choice of unroll factors; importing it registers the costs of our operators."""

from finn_resnet.parallelism import engine_model, follower_costs  # noqa: F401
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
