"""Integer codes of the original network: what the hardware has to reproduce (docs/equality.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_node
from qonnx.transformation.infer_shapes import InferShapes

from finn_resnet.importing.quantiser import Quantiser, is_quant, read_quantiser
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.lowering.contract_ops import quantise, run_node
from finn_resnet.lowering.interpreter import Interpreter
from finn_resnet.lowering.operators import interpret
from finn_resnet.lowering.tensors import CodeTensor, Constant
from finn_resnet.numerics.exact_tensor import ExactTensor, fractions
from finn_resnet.numerics.rounding import round_float
from finn_resnet.verification.coverage import Coverage

PRODUCT_SUFFIX = "_product"
"""Ends the name of a convolution's sum before a bias that lies between the accumulator's steps."""


class BatchExecutor:
    """Executes a graph of one batch-1 input on batches of any size, node by node, with qonnx."""

    def __init__(self, model: ModelWrapper) -> None:
        """``model``: tidied; only its batch size changes."""
        self._model = model
        self._batched: tuple[int, ModelWrapper, dict[str, np.ndarray]] | None = None

    def run(
        self,
        pictures: np.ndarray,
        after: Callable[[NodeProto, dict[str, np.ndarray]], None] | None = None,
    ) -> dict[str, np.ndarray]:
        """Float values of every tensor for pictures ``[N, C, H, W]`` (float32).

        ``after`` sees every node and all values so far once it is executed, and may replace them.
        """
        model, empty = self._for_batch(len(pictures))
        context = dict(empty)
        context[model.graph.input[0].name] = pictures.astype(np.float32)
        opsets = model.get_opset_imports()
        for node in model.graph.node:
            execute_node(node, context, model.graph, opsets.get(node.domain, 1))
            if after is not None:
                after(node, context)
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


@dataclass
class ReferenceRun:
    """What the reference has for some pictures.

    ``float32_differences`` counts by tensor the codes that differ when qonnx computes them in
    float32 from the contract's own codes; ``unexplained`` those of them (and values of outputs that
    are no codes) that lie farther off than float32's error explains. Both are empty where qonnx's
    float32 execution itself is the reference.
    """

    values: dict[str, np.ndarray]
    exact: dict[str, ExactTensor] = field(default_factory=dict)
    float32_differences: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=dict)


class Reference:
    """Executes a QONNX model batch by batch and gives the integers of every tensor.

    Where float32 sums are exact that is qonnx's own execution, node by node (`definition` =
    "qonnx"); where they are not, the contract's ("contract"), beside which qonnx runs in float32,
    from one quantised tensor to the next, to count what rounding changes.
    """

    def __init__(self, model: ModelWrapper) -> None:
        """``model``: as read from the file, or tidied."""
        self._model = model.transform(TidyQonnx())
        interpreter = interpret(self._model)
        self.definition = interpreter.reference
        self._constants = _constants(interpreter)
        self._codes = _code_tensors(interpreter)
        self._quantisers = {
            node.output[0]: read_quantiser(self._model, node)
            for node in self._model.graph.node
            if is_quant(node) and node.output[0] not in self._constants
        }
        self._biases = _biases(self._model, self._constants)
        self._fold_parameters()
        self._executor = BatchExecutor(self._model)

    @property
    def tensors(self) -> list[str]:
        """Names of the quantised tensors that move, in graph order."""
        return list(self._quantisers)

    @property
    def inner_tensors(self) -> list[str]:
        """Names of all tensors that are integers times a scale, quantised or not.

        A name that the original does not have is a convolution's result before its bias. Other
        shapes of a tensor (Flatten) are not listed again.
        """
        return [
            name
            for name, tensor in self._codes.items()
            if tensor.name == name or tensor.name not in self._codes
        ]

    @property
    def outputs(self) -> list[str]:
        """Names of the graph outputs."""
        return [tensor.name for tensor in self._model.graph.output]

    def scale(self, tensor: str) -> tuple[Fraction, ...]:
        """Scale of an inner tensor: one, or one per channel."""
        return self._codes[tensor].scale

    def coverage(self, tensor: str, codes: np.ndarray) -> Coverage:
        """How much of an inner tensor's range some codes of it reach."""
        possible, quantised = self._codes[tensor].range, tensor in self._quantisers
        return Coverage.of(codes, possible, quantised=quantised)

    def run(self, pictures: np.ndarray) -> ReferenceRun:
        """Execute pictures ``[N, C, H, W]`` (float32)."""
        if self.definition == "qonnx":
            return ReferenceRun(self._executor.run(pictures))
        run = ReferenceRun({})
        run.values = self._executor.run(pictures, lambda *step: self._follow(run, *step))
        return run

    def integers(self, run: ReferenceRun, tensor: str) -> np.ndarray:
        """int64 codes of an inner tensor in the original's layout, batch first.

        Raises:
            ValueError: the reference's value is no whole multiple of the tensor's scale.
        """
        name, bias = tensor, None
        if tensor not in run.values:
            name = tensor.removesuffix(PRODUCT_SUFFIX)
            bias = self._biases[name]
        if self.definition == "contract":
            return self._exact_integers(run.exact[name], tensor, bias)
        values = np.asarray(run.values[name], np.float64)
        if bias is not None:
            values = values - bias
        scale = self._spread(tensor).astype(np.float64)
        codes = np.rint(values / scale)
        # What float32 holds of a code is its product with the scale, rounded once.
        if np.any((codes * scale).astype(np.float32) != values.astype(np.float32)):
            raise ValueError(f"tensor {tensor} holds values that are no multiples of its scale")
        return codes.astype(np.int64)

    def values(self, run: ReferenceRun, tensor: str) -> np.ndarray:
        """Values of a tensor: qonnx's (float32), or the contract's rounded to float64."""
        exact = run.exact.get(tensor)
        return run.values[tensor] if exact is None else exact.values

    def off_values(self, run: ReferenceRun, tensor: str, found: np.ndarray) -> np.ndarray:
        """Where float32 values that a host made of codes are not the reference's (bool).

        qonnx's must be equal; the contract's may be off by float32's error.
        """
        exact = run.exact.get(tensor)
        if exact is None:
            return found != run.values[tensor]
        return np.abs(found.astype(np.float64) - exact.values) > exact.float32_error()

    def _exact_integers(
        self, value: ExactTensor, tensor: str, bias: np.ndarray | None
    ) -> np.ndarray:
        if bias is not None:
            value = value.plus(ExactTensor.constant(-fractions(bias)))
        return value.integers(self._spread(tensor))

    def _spread(self, tensor: str) -> np.ndarray:
        """The scale as an object array that broadcasts to the original's layout."""
        found = self._codes[tensor]
        height, width, channels = found.shape
        array = np.array(found.scale, object)
        if len(array) == 1:
            return array.reshape(())
        return (
            np.repeat(array, height * width)
            if found.flattened
            else array.reshape(1, channels, 1, 1)
        )

    def _follow(self, run: ReferenceRun, node: NodeProto, values: dict[str, np.ndarray]) -> None:
        """The contract's side of one node, and float32's distance from it."""
        name = node.output[0]
        quantiser = self._quantisers.get(name)
        operands = [run.exact.get(n, self._constants.get(n)) for n in node.input if n]
        if quantiser is not None:
            source = run.exact.get(node.input[0])
            single = np.asarray(values[name], np.float64) / float(quantiser.scale)
            codes = round_float(single, "ROUND")
            if source is None:  # the picture: float32, as the driver computes it
                run.exact[name] = ExactTensor.of(codes, Fraction(float(quantiser.scale)))
                return
            run.exact[name] = quantise(source, quantiser)
            self._compare(run, name, source, quantiser, codes)
            found = run.exact[name].terms[0].codes
            values[name] = found.astype(np.float32) * np.float32(quantiser.scale)
        elif any(isinstance(operand, ExactTensor) for operand in operands):
            run.exact[name] = run_node(node, operands)
            if name in self.outputs:
                exact = run.exact[name]
                off = np.abs(values[name].astype(np.float64) - exact.values)
                _count(run.unexplained, name, off > exact.float32_error())

    @staticmethod
    def _compare(
        run: ReferenceRun, name: str, source: ExactTensor, quantiser: Quantiser, single: np.ndarray
    ) -> None:
        """Count float32's codes that differ, and those its error does not explain."""
        differs = single != run.exact[name].terms[0].codes
        if not differs.any():
            return
        _count(run.float32_differences, name, differs)
        scale, bounds = float(quantiser.scale), quantiser.range
        # Division by the scale and clipping: two more float32 operations.
        error = source.float32_error() / scale + np.abs(source.values / scale) * 2.0**-22
        ends = (
            np.clip(round_float(source.values / scale + side, quantiser.rounding), *bounds)
            for side in (-error, error)
        )
        low, high = ends
        _count(run.unexplained, name, differs & ((single < low) | (single > high)))

    def _fold_parameters(self) -> None:
        """Replace Quant nodes on parameters by their result, as qonnx computes it in float32."""
        model = self._model
        for node in [n for n in model.graph.node if is_quant(n)]:
            if model.get_initializer(node.input[0]) is None:
                continue
            context = {name: model.get_initializer(name) for name in node.input}
            execute_node(node, context, model.graph, 1)
            model.graph.node.remove(node)
            model.set_initializer(node.output[0], context[node.output[0]])


def _count(counts: dict[str, int], tensor: str, mask: np.ndarray) -> None:
    if mask.any():
        counts[tensor] = counts.get(tensor, 0) + int(mask.sum())


def _constants(interpreter: Interpreter) -> dict[str, Constant]:
    """Every parameter by name, quantised ones with their codes."""
    model = interpreter.model
    found = {t.name: Constant(model.get_initializer(t.name)) for t in model.graph.initializer}
    for name, tensor in interpreter.tensors.items():
        if isinstance(tensor, Constant):
            found[name] = tensor
    return found


def _code_tensors(interpreter: Interpreter) -> dict[str, CodeTensor]:
    """Every tensor of integers by its name in the original; a convolution's sum in front of a bias
    that lies between its steps goes by the name it has in hardware.
    """
    found = interpreter.tensors.items()
    return {name: tensor for name, tensor in found if isinstance(tensor, CodeTensor)}


def _biases(model: ModelWrapper, constants: dict[str, Constant]) -> dict[str, np.ndarray]:
    """Bias of every Conv and Gemm, by output, as it broadcasts to it."""
    found = {}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm") and len(node.input) > 2 and node.input[2] in constants:
            values = np.asarray(constants[node.input[2]].values, np.float64)
            found[node.output[0]] = values.reshape((1, -1, 1, 1) if node.op_type == "Conv" else -1)
    return found
