"""Training recipe: float ResNet, batch-norm merge, quantisation-aware fine-tuning, QONNX export.

Needs the extra `train`. Nothing heavy is imported until `train` is called, so that the rest of the
package works without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finn_resnet.training.options import TrainingOptions

if TYPE_CHECKING:
    from finn_resnet.training.recipe import TrainingResult

__all__ = ["TrainingOptions", "train"]


def train(options: TrainingOptions) -> TrainingResult:
    """Runs the whole recipe; see `finn_resnet.training.recipe.run_recipe`.

    Raises UserError when the extra `train` is missing or when data or checkpoints do not fit.
    """
    from finn_resnet.training.extras import require_training_extras

    require_training_extras()
    from finn_resnet.training.recipe import run_recipe

    return run_recipe(options)
