"""The float network a quantised one was made of, from an ONNX file of its own.

A QONNX file does not hold it. Exporters write weights either rounded or as fine-tuning left them;
without their quantisers the latter are no float network either, since fine-tuning moved them only
to be rounded (the shipped 4-bit ResNet8 falls from 82.5 % to 70.7 % on 1000 images that way).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from finn_resnet.errors import UserError
from finn_resnet.importing import load_model
from finn_resnet.importing.quantiser import is_quant
from finn_resnet.verification.reference import BatchExecutor


class FloatNetwork:
    """A float network, ready to run batches of pictures."""

    def __init__(self, path: Path) -> None:
        """Read the network from an ONNX file.

        Raises:
            UserError: the file is unreadable, or holds a quantised network.
        """
        model = load_model(path)
        if any(is_quant(node) for node in model.graph.node):
            raise UserError(
                f"{path} holds quantisers, a float network has none; give the network from before "
                "quantisation"
            )
        self.shape = tuple(model.get_tensor_shape(model.graph.input[0].name)[1:])
        """Channels, height and width of the pictures."""
        self.outputs = int(np.prod(model.get_tensor_shape(model.graph.output[0].name)[1:]))
        """Number of classes."""
        self._output = model.graph.output[0].name
        self._executor = BatchExecutor(model)

    def labels(self, pictures: np.ndarray) -> np.ndarray:
        """Label [N] of pictures float32 [N, C, H, W]; the first of equal outputs wins."""
        values = self._executor.run(pictures)[self._output]
        return values.reshape(len(pictures), -1).argmax(axis=1)


def check_float_network(path: Path, shape: tuple[int, int, int], outputs: int) -> None:
    """Refuse a float network that is not that of a quantised one.

    Args:
        path: ONNX file.
        shape: channels, height and width of the quantised network's pictures.
        outputs: its number of classes.

    Raises:
        UserError: as `FloatNetwork`, or another input size or number of classes.
    """
    network = FloatNetwork(path)
    if (network.shape, network.outputs) != (shape, outputs):
        raise UserError(
            f"{path} takes pictures {network.shape} and tells {network.outputs} classes apart, the "
            f"quantised network {shape} and {outputs}; give the float network it was made of"
        )
