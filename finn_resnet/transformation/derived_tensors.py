"""Where the quantised tensors of the original live once nodes have been fused away.

A quantised tensor of the original file is, in the hardware graph, one of three things: a stream of
its own name; a value inside a task (``fused_tensors`` attributes: tensor -> map from the task's
total); or an exact function of another tensor, recorded here in the model's metadata. With them the
verification can compare every quantised tensor, however far the graph was optimised.
"""

from __future__ import annotations

import json

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.numerics.requantiser import Requantiser

_PROPERTY = "finn_resnet_derived"


def derived_tensors(model: ModelWrapper) -> dict[str, tuple[str, Requantiser]]:
    """Tensor -> (source tensor, map from its codes)."""
    stored = json.loads(model.get_metadata_prop(_PROPERTY) or "{}")
    return {name: (entry[0], Requantiser.from_json(entry[1])) for name, entry in stored.items()}


def record_derived(model: ModelWrapper, tensor: str, source: str, map_: Requantiser) -> None:
    """Remember that ``tensor`` is ``map_`` of ``source`` and no longer a stream."""
    stored = json.loads(model.get_metadata_prop(_PROPERTY) or "{}")
    stored[tensor] = [source, map_.to_json()]
    model.set_metadata_prop(_PROPERTY, json.dumps(stored))


def original_tensor(model: ModelWrapper, tensor: str) -> str:
    """The tensor a fork's copy or a window buffer's forwarded stream repeats."""
    producer = model.find_producer(tensor)
    while producer is not None and producer.op_type in ("StreamFork", "WindowBuffer"):
        tensor = producer.input[0]
        producer = model.find_producer(tensor)
    return tensor


def fused_tensors(op: HardwareOp, attribute: str = "fused_tensors") -> dict[str, Requantiser]:
    """Tensors that live inside a task: name -> map from the task's total."""
    stored = json.loads(op.get_nodeattr(attribute) or "{}")
    return {name: Requantiser.from_json(text) for name, text in stored.items()}


def record_fused(
    op: HardwareOp, tensor: str, map_: Requantiser, attribute: str = "fused_tensors"
) -> None:
    """Remember that ``tensor`` is ``map_`` of the task's total."""
    stored = json.loads(op.get_nodeattr(attribute) or "{}")
    stored[tensor] = map_.to_json()
    op.set_nodeattr(attribute, json.dumps(stored))
