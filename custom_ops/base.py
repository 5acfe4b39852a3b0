"""What every hardware node shares: attributes, shapes, the float container of integer codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import NodeProto
from qonnx.custom_op.base import CustomOp

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser

DOMAIN = "finn_resnet.custom_ops"
"""ONNX domain of the custom ops; also the module path qonnx imports them from."""

AttributeTypes = Mapping[str, tuple]

EXACT_IN_FLOAT32 = 1 << 24
"""Integers up to this magnitude are exact in a float32."""


def to_codes(container: np.ndarray) -> np.ndarray:
    """Integer codes (int64) held by a float tensor.

    Raises:
        ValueError: a value is no integer.
    """
    container = np.asarray(container)
    if container.dtype.kind in "iu":
        return container.astype(np.int64)
    codes = container.astype(np.int64)
    if not np.array_equal(codes, container):
        raise ValueError("a tensor of integer codes holds a fraction")
    return codes


def to_container(codes: np.ndarray) -> np.ndarray:
    """Float tensor that holds ``codes`` exactly: float32, or float64 above 2^24."""
    wide = codes.size and max(int(codes.max()), -int(codes.min())) > EXACT_IN_FLOAT32
    return codes.astype(np.float64 if wide else np.float32)


class HardwareOp(CustomOp):
    """Base class of all our custom ops.

    A subclass lists its attributes in `attributes`, names its output shapes in `output_shapes`
    and computes int64 codes in `compute`.
    """

    is_host = False
    """True for the nodes that run on the processor, not in the fabric."""

    def attributes(self) -> AttributeTypes:
        """Own attributes as qonnx tuples (type, required, default[, allowed values])."""
        raise NotImplementedError

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shape of every output in the graph (NHWC unless the op says otherwise)."""
        raise NotImplementedError

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact integer semantics.

        Args:
            inputs: int64 codes, one array per node input; the batch axis may have any length.

        Returns:
            int64 codes, one array per node output.
        """
        raise NotImplementedError

    def problems(self) -> list[str]:
        """What is wrong with the attributes: empty when the node is legal."""
        return []

    def get_nodeattr_types(self) -> AttributeTypes:
        """Own attributes and the stream depths every hardware node has."""
        own = dict(self.attributes())
        if not self.is_host:
            own["out_depths"] = ("ints", False, [])
        return own

    def depths(self) -> list[int]:
        """Stream depth in tokens per lane of each output; 2 where none is set."""
        chosen = self.get_nodeattr("out_depths")
        return chosen or [2] * len(self.onnx_node.output)

    def attrs(self, *names: str) -> tuple[Any, ...]:
        """Several attributes at once."""
        return tuple(self.get_nodeattr(name) for name in names)

    def requantiser(self, name: str = "requant") -> Requantiser:
        """Requantiser attribute ``name``."""
        return Requantiser.from_json(self.get_nodeattr(name))

    def make_shape_compatible_op(self, model: Any) -> NodeProto:
        """Stand-in for ONNX shape inference; further outputs keep the shape they were given."""
        for name, shape in zip(self.onnx_node.output, self.output_shapes(), strict=True):
            model.set_tensor_shape(name, list(shape))
        return self.make_const_shape_op(self.output_shapes()[0])

    def infer_node_datatype(self, model: Any) -> None:
        """Annotate outputs whose range follows from the inputs' annotations."""
        inputs = [_annotated_range(model, name) for name in self.onnx_node.input]
        for name, found in zip(self.onnx_node.output, self.output_ranges(inputs), strict=True):
            if found is not None:
                model.set_tensor_datatype(name, found.datatype)

    def output_ranges(self, inputs: list[Range | None]) -> list[Range | None]:
        """Range of each output given those of the inputs; None leaves the annotation alone."""
        return [None] * len(self.onnx_node.output)

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Run `compute` on the tensors of ``context``."""
        inputs = [to_codes(context[name]) for name in self.onnx_node.input]
        for name, codes in zip(self.onnx_node.output, self.compute(inputs), strict=True):
            context[name] = to_container(codes)

    def verify_node(self) -> list[str]:
        """Messages of `problems`, each with the node's name, for qonnx's verification pass."""
        return [f"{self.onnx_node.name}: {text}" for text in self.problems()]

    def check_positive(self, *names: str) -> list[str]:
        """Problems of integer attributes that must be at least 1."""
        values = zip(names, self.attrs(*names), strict=True)
        return [f"{name} = {value} must be at least 1" for name, value in values if value < 1]

    def check_parallel(self, name: str, total: str) -> list[str]:
        """Problems of an unroll factor that must lie between 1 and the extent it unrolls."""
        factor, extent = self.attrs(name, total)
        if 1 <= factor <= extent:
            return []
        return [f"{name} = {factor} must lie between 1 and {total} = {extent}"]

    def check_requantiser(self, name: str) -> list[str]:
        """Problems of a requantiser attribute."""
        try:
            self.requantiser(name)
        except (ValueError, TypeError) as error:
            return [f"{name}: {error}"]
        return []


def _annotated_range(model: Any, name: str) -> Range | None:
    datatype = model.get_tensor_datatype(name)
    if not datatype.is_integer():
        return None
    return Range(int(datatype.min()), int(datatype.max()))
