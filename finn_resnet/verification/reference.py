"""Integer codes of the original network: what the hardware has to reproduce."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_node
from qonnx.transformation.infer_shapes import InferShapes

from finn_resnet.importing.quantiser import is_quant, read_quantiser
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.lowering.float64_ops import run_node
from finn_resnet.lowering.operators import interpret


class BatchExecutor:
    """Executes a graph of one batch-1 input on batches of any size, node by node, with qonnx."""

    def __init__(self, model: ModelWrapper) -> None:
        """``model``: tidied; only its batch size changes."""
        self._model = model
        self._batched: tuple[int, ModelWrapper, dict[str, np.ndarray]] | None = None

    def run(self, pictures: np.ndarray) -> dict[str, np.ndarray]:
        """Float values of every tensor for pictures ``[N, C, H, W]`` (float32)."""
        model, empty = self._for_batch(len(pictures))
        context = dict(empty)
        context[model.graph.input[0].name] = pictures.astype(np.float32)
        opsets = model.get_opset_imports()
        for node in model.graph.node:
            execute_node(node, context, model.graph, opsets.get(node.domain, 1))
        return context

    def _for_batch(self, size: int) -> tuple[ModelWrapper, dict[str, np.ndarray]]:
        """The model for a batch and its empty context (execution replaces arrays, never writes)."""
        if self._batched is None or self._batched[0] != size:
            model = self._model.transform(InferShapes())
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
            del model.graph.value_info[:]
            for tensor in model.graph.output:
                tensor.type.tensor_type.ClearField("shape")
            model = model.transform(InferShapes())
            self._batched = (size, model, model.make_empty_exec_context())
        return self._batched[1:]


class Reference:
    """Executes a QONNX model batch by batch and reads the codes off every Quant output.

    float32 execution is qonnx's own, node by node; where that is not exact (`precision` =
    "float64") the same graph runs in float64. Quant nodes on parameters run once.
    """

    def __init__(self, model: ModelWrapper) -> None:
        """``model``: as read from the file, or tidied."""
        self._model = model.transform(TidyQonnx())
        self.precision = interpret(self._model).precision
        self._fold_parameters()
        self.scales = {
            node.output[0]: float(read_quantiser(self._model, node).scale)
            for node in self._model.graph.node
            if is_quant(node)
        }
        """Scale of every quantised tensor that moves, in graph order."""
        self._executor = BatchExecutor(self._model)

    @property
    def tensors(self) -> list[str]:
        """Names of the quantised tensors, in graph order."""
        return list(self.scales)

    @property
    def outputs(self) -> list[str]:
        """Names of the graph outputs."""
        return [tensor.name for tensor in self._model.graph.output]

    def run(self, pictures: np.ndarray) -> dict[str, np.ndarray]:
        """Float values of every tensor for pictures ``[N, C, H, W]`` (float32)."""
        if self.precision == "float64":
            return self._run_double(pictures.astype(np.float64))
        return self._executor.run(pictures)

    def codes(self, values: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        """(tensor, int64 codes in the original's layout) of every quantised tensor of a run."""
        for name, scale in self.scales.items():
            yield name, np.rint(np.asarray(values[name], np.float64) / scale).astype(np.int64)

    def _fold_parameters(self) -> None:
        """Replace Quant nodes on parameters by their result."""
        model = self._model
        for node in [n for n in model.graph.node if is_quant(n)]:
            values = model.get_initializer(node.input[0])
            if values is None:
                continue
            if self.precision == "float64":
                quantiser = read_quantiser(model, node)
                result = quantiser.codes(values) * quantiser.scale
            else:
                context = {name: model.get_initializer(name) for name in node.input}
                execute_node(node, context, model.graph, 1)
                result = context[node.output[0]]
            model.graph.node.remove(node)
            model.set_initializer(node.output[0], result)

    def _run_double(self, pictures: np.ndarray) -> dict[str, np.ndarray]:
        model = self._model
        values = {t.name: model.get_initializer(t.name) for t in model.graph.initializer}
        values[model.graph.input[0].name] = pictures
        for node in model.graph.node:
            values[node.output[0]] = run_node(node, [values[n] for n in node.input if n])
        return values
