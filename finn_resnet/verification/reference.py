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
from finn_resnet.lowering.contract_ops import OPERATORS, quantised_codes, run_node
from finn_resnet.lowering.host_ends import as_host
from finn_resnet.lowering.interpreter import Interpreter
from finn_resnet.lowering.operators import interpret
from finn_resnet.lowering.tensors import CodeTensor, Constant, HostTensor
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
        name = model.graph.input[0].name
        context[name] = pictures.astype(empty[name].dtype)
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
        self._rests = interpreter.rests
        self._hosts = {
            tensor.name: as_host(interpreter, tensor.name)
            for tensor in self._model.graph.output
            if not isinstance(interpreter.tensors.get(tensor.name), CodeTensor)
        }
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

    def coverage(self, tensor: str, codes: np.ndarray, typical: int = 0) -> Coverage:
        """How much of an inner tensor's range some codes reach; see `Coverage.of`."""
        possible, quantised = self._codes[tensor].range, tensor in self._quantisers
        return Coverage.of(codes, possible, quantised=quantised, typical=typical)

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
        name = tensor if tensor in run.values else tensor.removesuffix(PRODUCT_SUFFIX)
        found = self._codes[tensor]
        rest, zero = (
            None if values is None else self._spread(tensor, values)
            for values in (self._rests.get(found.name), found.zero)
        )
        if self.definition == "contract":
            value = run.exact[name]
            if rest is not None:
                value = value.plus(ExactTensor.constant(-rest))
            return value.integers(self._spread(tensor, found.scale)) + zero.astype(np.int64)
        values = np.asarray(run.values[name], np.float64)
        if rest is not None:
            values = values - rest.astype(np.float64)
        scale = self._spread(tensor, found.scale).astype(np.float64)
        codes = np.rint(values / scale)
        # What float32 holds of a code is its product with the scale, rounded once.
        if np.any((codes * scale).astype(np.float32) != values.astype(np.float32)):
            raise ValueError(f"tensor {tensor} holds values that are no multiples of its scale")
        return codes.astype(np.int64) + zero.astype(np.int64)

    def port_tensor(self, output: str) -> str:
        """The tensor of integers that leaves the accelerator for a graph output."""
        host = self._hosts.get(output)
        if host is None:
            return output
        return next(n for n, t in self._codes.items() if t == host.source)

    def arranged(self, tensor: str, codes: np.ndarray) -> np.ndarray:
        """Codes ``[N, H, W, C]`` of an inner tensor in the original's order of axes."""
        return codes if self._codes[tensor].channels_last else np.moveaxis(codes, -1, 1)

    def values(self, run: ReferenceRun, tensor: str) -> np.ndarray:
        """Values of a tensor: qonnx's (float32), or the contract's rounded to float64."""
        exact = run.exact.get(tensor)
        return run.values[tensor] if exact is None else exact.values

    def off_values(self, run: ReferenceRun, tensor: str, found: np.ndarray) -> np.ndarray:
        """Where float32 values that a host made of codes are not the reference's (bool).

        qonnx's must be equal; the contract's may be off by float32's error.
        """
        exact, host = run.exact.get(tensor), self._hosts.get(tensor)
        if host is not None and (exact is None or host.dtype != "float32"):
            return _off_on_host(host, np.asarray(run.values[tensor]), found)
        if exact is None:
            return found != run.values[tensor]
        return np.abs(found.astype(np.float64) - exact.values) > exact.float32_error()

    def _spread(self, tensor: str, values: tuple) -> np.ndarray:
        """Values per channel as an object array that broadcasts to the original's layout."""
        found = self._codes[tensor]
        height, width, channels = found.shape
        array = np.array(values, object)
        if len(array) == 1:
            return array.reshape(())
        if found.flattened:
            repeat = np.tile if found.channels_last else np.repeat
            return repeat(array, height * width)
        return array if found.channels_last else array.reshape(1, channels, 1, 1)

    def _follow(self, run: ReferenceRun, node: NodeProto, values: dict[str, np.ndarray]) -> None:
        """The contract's side of one node, and float32's distance from it."""
        name = node.output[0]
        quantiser = self._quantisers.get(name)
        operands = [run.exact.get(n, self._constants.get(n)) for n in node.input if n]
        if quantiser is None and node.op_type == "DequantizeLinear" and name in self._codes:
            quantiser = _integer_input(self._codes[name])
        if quantiser is not None:
            source = run.exact.get(node.input[0])
            single = np.asarray(values[name], np.float64) / quantiser.scale
            codes = round_float(single, "ROUND") + quantiser.zero
            if source is None:  # the picture: float32, as the driver computes it
                scale = fractions(quantiser.scale)
                run.exact[name] = ExactTensor.of(codes - quantiser.zero, scale)
                return
            found = quantised_codes(source, quantiser)
            run.exact[name] = ExactTensor.of(found - quantiser.zero, fractions(quantiser.scale))
            self._compare(run, name, source, quantiser, codes, found)
            values[name] = ((found - quantiser.zero) * quantiser.scale).astype(np.float32)
        elif node.op_type in OPERATORS and any(isinstance(o, ExactTensor) for o in operands):
            run.exact[name] = run_node(node, operands)
            if name in self.outputs:
                exact = run.exact[name]
                off = np.abs(values[name].astype(np.float64) - exact.values)
                _count(run.unexplained, name, off > exact.float32_error())

    @staticmethod
    def _compare(
        run: ReferenceRun,
        name: str,
        source: ExactTensor,
        quantiser: Quantiser,
        single: np.ndarray,
        exact: np.ndarray,
    ) -> None:
        """Count float32's codes that differ, and those its error does not explain."""
        differs = single != exact
        if not differs.any():
            return
        _count(run.float32_differences, name, differs)
        scale, zero = quantiser.scale, quantiser.zero
        # Division by the scale, zero-point and clipping: more float32 operations.
        error = source.float32_error() / scale + np.abs(source.values / scale) * 2.0**-22
        error = error + np.abs(zero) * 2.0**-22
        low, high = (_codes_at(quantiser, source.values / scale + side) for side in (-error, error))
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
            self._install(node.output[0], context[node.output[0]])

    def _install(self, name: str, values: np.ndarray) -> None:
        """A parameter for each of its readers: qonnx renames shared ones when it copies a graph."""
        model = self._model
        places = [
            (node, index)
            for node in model.graph.node
            for index, read in enumerate(node.input)
            if read == name
        ]
        for count, (node, index) in enumerate(places):
            own = name if count == 0 else f"{name}_of_{node.name}"
            node.input[index] = own
            model.set_initializer(own, values)
            self._constants[own] = self._constants[name]


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


def _integer_input(found: CodeTensor) -> Quantiser:
    """DequantizeLinear of an integer graph input, whose codes come from outside."""
    scale, zero = np.array(float(found.scale[0])), np.array(found.zero[0])
    return Quantiser(scale, zero, np.array(found.range.lo), np.array(found.range.hi))


def _codes_at(quantiser: Quantiser, quotient: np.ndarray) -> np.ndarray:
    """Codes of a quantiser for values divided by its scale, in double precision."""
    zero = quantiser.zero
    if quantiser.bipolar:
        return np.where(quotient >= 0, 1, -1)
    if quantiser.rounds_first:
        codes = round_float(quotient, quantiser.rounding) + zero
    else:
        codes = round_float(quotient + zero, quantiser.rounding)
    return np.clip(codes, quantiser.lo, quantiser.hi)


_HOST_TOLERANCE = 1e-4
"""Largest difference between two float32 computations of a Softmax: libraries round differently."""


def _off_on_host(host: HostTensor, expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Where what the processor computed behind the accelerator is not the original's."""
    if expected.dtype.kind == "f":
        return ~np.isclose(found, expected, rtol=_HOST_TOLERANCE, atol=_HOST_TOLERANCE)
    step = int(any(s["op"] == "QuantizeLinear" for s in host.steps))
    return np.abs(found.astype(np.int64) - expected.astype(np.int64)) > step
