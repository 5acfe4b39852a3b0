"""Walks a QONNX graph in order, follows its integer codes and emits the hardware nodes.

One function per operator lives in the layer modules; the interpreter holds what they share: the
known tensors, the builder, the findings, and what the reference is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from onnx import NodeProto, TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import EXACT_IN_FLOAT32
from finn_resnet.errors import InternalFault
from finn_resnet.importing.findings import Finding
from finn_resnet.importing.quantiser import UnsupportedQuantiser, is_quant
from finn_resnet.lowering.hardware_graph import HardwareGraphBuilder
from finn_resnet.lowering.tensors import (
    CodeTensor,
    Constant,
    FloatChain,
    HostTensor,
    Tensor,
    Unknown,
)
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser


class Unsupported(Exception):
    """A node cannot become hardware; ``args`` are (reason, remedy)."""


class NeedsContract(Exception):
    """float32 execution of the original is not exact: its reference is the contract."""


Handler = Callable[["Interpreter", NodeProto], None]


class Interpreter:
    """State of one walk; see the module."""

    def __init__(self, model: ModelWrapper, handlers: dict[str, Handler], reference: str) -> None:
        self.model = model
        self.reference = reference
        """"qonnx": its float32 execution, all sums of which are exact; "contract": exact numbers
        (docs/equality.md)."""
        self.opset = model.get_opset_imports().get("", 13)
        self.builder = HardwareGraphBuilder(model.get_all_tensor_names())
        self.findings: list[Finding] = []
        self.tensors: dict[str, Tensor] = {}
        self.chains: dict[str, tuple[FloatChain, Requantiser]] = {}
        """By name of the Quant node that ends them: what `MergeBatchNorm` rewrites."""
        self.rests: dict[str, tuple[Fraction, ...]] = {}
        """By code tensor of a convolution: what its bias has between two steps of the accumulator,
        one entry per channel. The original's value is that much larger."""
        self._handlers = handlers

    def run(self) -> Interpreter:
        """Visit every node; problems collect in ``findings``."""
        for tensor in self.model.graph.input:
            shape = tuple(self.model.get_tensor_shape(tensor.name))
            element = tensor.type.tensor_type.elem_type or TensorProto.FLOAT
            dtype = helper.tensor_dtype_to_np_dtype(element).name
            self.tensors[tensor.name] = HostTensor(tensor.name, shape, (), dtype)
        for node in self.model.graph.node:
            try:
                self._visit(node)
            except NeedsContract:
                raise
            except Exception as fault:
                raise InternalFault(f"{node.name} ({node.op_type})") from fault
        return self

    def _visit(self, node: NodeProto) -> None:
        self.builder.origin = node.name
        handler = self._handlers.get("Quant" if is_quant(node) else node.op_type)
        moving = [self.tensors.get(name) for name in node.input if name]
        try:
            if handler is None:
                raise Unsupported(*_no_hardware_form(node.op_type))
            if any(isinstance(tensor, Unknown) for tensor in moving):
                self._resume(node)
            else:
                handler(self, node)
        except (Unsupported, UnsupportedQuantiser) as error:
            reason, remedy = error.args
            self.findings.append(Finding(node.name, node.op_type, reason, remedy))
            self._resume(node)

    def _resume(self, node: NodeProto) -> None:
        """Output of a node behind a problem. Codes start anew at a Quant node, whatever feeds it,
        so that one walk finds every problem of the model.
        """
        for name in node.output:
            shape = self.model.get_tensor_shape(name)
            if is_quant(node) and shape is not None and len(shape) in (2, 4):
                _, channels, *picture = shape
                height, width = picture or (1, 1)
                # Nothing is emitted once there is a finding: the scale only has to be legal.
                self.tensors[name] = CodeTensor(
                    name, (Fraction(1),), Range(-128, 127), (height, width, channels), not picture
                )
            else:
                self.tensors[name] = Unknown()

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor of the original."""
        return tuple(self.model.get_tensor_shape(name))

    def constant(self, name: str) -> Constant | None:
        """The parameter tensor ``name`` (initialiser, or Quant of one); None if it moves."""
        values = self.model.get_initializer(name)
        if values is not None:
            return Constant(values)
        found = self.tensors.get(name)
        return found if isinstance(found, Constant) else None

    def codes(self, name: str) -> CodeTensor:
        """The code tensor ``name``.

        Raises:
            Unsupported: it holds float values.
        """
        found = self.tensors.get(name)
        if isinstance(found, CodeTensor):
            return found
        if isinstance(found, FloatChain) and found.sum is not None and not found.nodes:
            from finn_resnet.lowering.sums import emit_total

            codes = self.tensors[name] = emit_total(self, found.sum, name)
            return codes
        if isinstance(found, HostTensor) and isinstance(found.source, str):
            raise Unsupported(
                f"input {name} reaches it as float values", "put a Quant node on the graph input"
            )
        if isinstance(found, HostTensor):
            raise Unsupported(
                f"input {name} comes from {found.steps[-1]['op']}, which the processor computes "
                "behind the accelerator", "leave nothing but host operators behind it",
            )  # fmt: skip
        if isinstance(found, FloatChain):
            last = found.nodes[-1].op_type if found.nodes else "Add"
            raise Unsupported(
                f"input {name} holds float values (after {last})",
                "put a Quant node between the float arithmetic and this node",
            )
        raise Unsupported(f"input {name} is a constant", "fold the constant arithmetic")

    def chain(self, name: str) -> FloatChain:
        """What ``name`` holds as a float chain, possibly without any arithmetic yet.

        Raises:
            Unsupported: it is neither codes nor arithmetic on them.
        """
        found = self.tensors.get(name)
        return found if isinstance(found, FloatChain) else FloatChain(self.codes(name))

    def needs_exact_float32(self, exact: bool) -> None:
        """Leave for the contract unless float32 execution is exact here."""
        if not exact and self.reference == "qonnx":
            raise NeedsContract

    def check_sum(self, tensor: CodeTensor) -> None:
        """float32 sums are exact below 2^24 on one power-of-two grid."""
        largest = max(-tensor.range.lo, tensor.range.hi) + max(map(abs, tensor.zero))
        self.needs_exact_float32(tensor.exponent is not None and largest < EXACT_IN_FLOAT32)

    def emit_requant(
        self, source: CodeTensor, name: str, map_: Requantiser, **changes
    ) -> CodeTensor:
        """Append a StreamRequant; returns the resulting tensor."""
        out = source.named(name, range=map_.output_range(source.range), **changes)
        h, w, ch = source.shape
        self.builder.node(
            "StreamRequant", name, [source.name], [name], h=h, w=w, ch=ch, requant=map_.to_json()
        )
        self.describe(out)
        return out

    def describe(self, tensor: CodeTensor) -> None:
        """Tell the builder shape and range of a code tensor."""
        self.builder.describe(tensor.name, (1, *tensor.shape), tensor.range)


NAMED_FORMATS = {
    **dict.fromkeys(
        ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearGlobalAveragePool", "QGemm",
         "QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid",
         "ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"),
        ("it is of onnxruntime's operator format", "export QDQ (quant_format=QuantFormat.QDQ)"),
    ),
    "MultiThreshold": (
        "it is FINN's form of a quantiser",
        "give the QONNX file from before ConvertQONNXtoFINN",
    ),
    "FloatQuant": ("it quantises to minifloats", "quantise to integers (Quant)"),
}  # fmt: skip
"""Operators whose remedy is another export: reason and remedy."""


def _no_hardware_form(op: str) -> tuple[str, str]:
    return NAMED_FORMATS.get(
        op,
        (
            "this operator has no hardware form",
            "docs/own_network.md lists the operators that have one",
        ),
    )


def fractions_of(values: np.ndarray) -> tuple[Fraction, ...]:
    """Exact fractions of float scales: one if all are equal, else one per entry."""
    flat = [Fraction(float(v)) for v in np.ravel(values)]
    return tuple(flat[:1]) if len(set(flat)) == 1 else tuple(flat)


def times(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Per-channel product of two scales."""
    count = max(len(a), len(b))
    return tuple(a[i % len(a)] * b[i % len(b)] for i in range(count))


def channel_values(values: np.ndarray, source: CodeTensor) -> np.ndarray:
    """A parameter as it broadcasts to ``source``: one entry, or one for each channel.

    Raises:
        Unsupported: ONNX broadcasts it along another axis than the channels'.
    """
    array, axis = np.asarray(values), source.channel_axis
    flat = array.ravel()
    if flat.size == 1 or np.all(flat == flat[0]):
        return flat[:1]
    along = axis is not None and array.ndim >= -axis and array.shape[axis] == flat.size
    if not along or flat.size != source.shape[2]:
        raise Unsupported(
            f"a constant of shape {list(array.shape)} varies along another axis than the channels",
            "use one value, or one per channel (shape [C, 1, 1] on a picture)",
        )
    return flat
