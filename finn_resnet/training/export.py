"""QONNX export of a quantised network, clean-up, and the proof that the file computes the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from brevitas.export import export_qonnx
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.change_batchsize import ChangeBatchSize
from qonnx.transformation.infer_shapes import InferShapes
from qonnx.util.cleanup import cleanup_model

from finn_resnet.training.batches import EVALUATION_BATCH, to_input
from finn_resnet.training.data import LabelledImages
from finn_resnet.training.network import IMAGE_SIZE, ResNet
from finn_resnet.training.quantised import QuantisedResNet

OPSET = 17


def export_model(network: QuantisedResNet, path: Path) -> ModelWrapper:
    """Writes the network as a QONNX file with one image per call and readable names.

    The graph's input is float32 [1, 3, 32, 32] in [0, 1], its output the logits [1, classes].
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    network = network.eval().to(memory_format=torch.contiguous_format)
    image = torch.zeros(1, 3, IMAGE_SIZE, IMAGE_SIZE)
    export_qonnx(
        network,
        args=image,
        export_path=str(path),
        opset_version=OPSET,
        input_names=["image"],
        output_names=["logits"],
        dynamo=False,
    )
    model = cleanup_model(ModelWrapper(str(path)))
    model.save(str(path))
    return model


def export_float(network: ResNet, path: Path) -> None:
    """Writes the float network as an ONNX file with one image per call.

    Input and output are those of `export_model`, so that both can be measured on the same images.
    """
    torch.onnx.export(
        network.eval().to(memory_format=torch.contiguous_format),
        (torch.zeros(1, 3, IMAGE_SIZE, IMAGE_SIZE),),
        str(path),
        opset_version=OPSET,
        input_names=["image"],
        output_names=["logits"],
        dynamo=False,
    )


def logit_exponent(network: QuantisedResNet) -> int:
    """Power-of-two exponent of the logits' scale: their quantiser's, or the accumulator's."""
    plan = network.plan
    if network.logits_quant is not None:
        return plan.activation_exponents["classifier"]
    return plan.activation_exponents["pool"] + plan.weight_exponents["classifier"]


def logit_codes(logits: np.ndarray, exponent: int) -> np.ndarray:
    """Integer codes int64 of logits that are multiples of 2^exponent.

    Raises ValueError when one is not: the network was not purely integer.
    """
    scaled = logits.astype(np.float64) * 2.0**-exponent
    codes = np.rint(scaled)
    if not np.array_equal(codes, scaled):
        raise ValueError(f"logits are not multiples of 2^{exponent}")
    return codes.astype(np.int64)


def execute_model(model: ModelWrapper, inputs: np.ndarray) -> np.ndarray:
    """Logits [N, classes] of the exported graph, run by qonnx.

    `inputs`: float32 [N, 3, 32, 32].
    """
    name_in, name_out = model.graph.input[0].name, model.graph.output[0].name
    batched = model.transform(ChangeBatchSize(len(inputs))).transform(InferShapes())
    return execute_onnx(batched, {name_in: inputs})[name_out]


@torch.no_grad()
def differing_codes(network: QuantisedResNet, model: ModelWrapper, images: LabelledImages) -> int:
    """Number of logits whose integer codes differ between PyTorch and the exported graph."""
    exponent = logit_exponent(network)
    network.eval()
    differing = 0
    for start in range(0, len(images), EVALUATION_BATCH):
        inputs = to_input(images.images[start : start + EVALUATION_BATCH]).contiguous()
        expected = logit_codes(network(inputs).numpy(), exponent)
        found = logit_codes(execute_model(model, inputs.numpy()), exponent)
        differing += int((found != expected).sum())
    return differing
