"""What every hardware node shares: attributes, shapes, the float container of integer codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from onnx import NodeProto
from qonnx.custom_op.base import CustomOp

from finn_resnet.custom_ops.streams import PictureStream, Stream
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


class SearchRole(Enum):
    """What an op is to the search for unroll factors."""

    ENGINE = "engine"
    """One decision is about it and the ops that serve it."""
    SERVED = "served"
    """Part of the engine that reads it: a window buffer, a parameter task."""
    FOLLOWER = "follower"
    """Takes the layout of the engine that feeds it."""
    ADAPTER = "adapter"
    """Inserted where two layouts meet."""
    HOST = "host"
    """Runs on the processor, not in the fabric."""


class WriteOrder(Enum):
    """How an op writes the lanes of a picture, which decides the depth of the streams behind it."""

    TOGETHER = "together"
    """A token to every lane at once, at the pace of its input."""
    PIXEL = "pixel"
    """All channel groups of a column group in a burst."""
    LANES_IN_TURN = "lanes in turn"
    """All channel groups of some columns, then those of the next."""


class Operand:
    """A named input of an op: its tensor, None where the node has no such input."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, op: HardwareOp, owner: type | None = None) -> str | None:
        index = op.index_of(self._name)
        return None if index is None else op.onnx_node.input[index]


class HardwareOp(CustomOp):
    """Base class of all our custom ops: the one declaration of what an operator is.

    A subclass lists its attributes in `attributes`, its ports in `operands`, `results`,
    `input_streams` and `output_streams`, and computes int64 codes in `compute`. What the rest of
    the package knows of an operator beyond that are its cost (`finn_resnet.parallelism.costs`) and
    its code (`finn_resnet.generation.registry`).
    """

    role: SearchRole = SearchRole.FOLLOWER
    """Part the op plays in the parallelism search."""
    write_order: WriteOrder = WriteOrder.TOGETHER
    """How it writes its pictures."""
    extents: ClassVar[tuple[str, ...]] = ()
    """Attributes that must be at least 1."""
    unrolled: Mapping[str, str] = MappingProxyType({})
    """Unroll factor -> the extent it unrolls; it lies between 1 and that."""
    factors: ClassVar[Mapping[str, str]] = {}
    """What the search decides (a field of `EngineFactors`) -> the attribute it is written to."""
    lane_attribute: ClassVar[str] = "lanes"
    """Attribute of a follower that takes the number of lanes."""

    @property
    def is_host(self) -> bool:
        """Whether it runs on the processor: the whole class does, or no node of it."""
        return type(self).role is SearchRole.HOST

    def attributes(self) -> AttributeTypes:
        """Own attributes as qonnx tuples (type, required, default[, allowed values])."""
        raise NotImplementedError

    def operands(self) -> tuple[str, ...]:
        """Names of the inputs, by position."""
        return ("x",)

    def results(self) -> tuple[str, ...]:
        """Names of the outputs, by position."""
        return ("out",)

    def index_of(self, operand: str) -> int | None:
        """Position of an input by its name; None where the node has none."""
        names = self.operands()
        return names.index(operand) if operand in names else None

    def input_streams(self) -> tuple[Stream | None, ...]:
        """The stream read at every input; None where a constant is read, or on the host."""
        return (None,) * len(self.operands())

    def output_streams(self) -> tuple[Stream | None, ...]:
        """The stream written at every output; None on the host."""
        return (None,) * len(self.results())

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shape of every output in the graph (NHWC unless the op says otherwise)."""
        return [stream.shape for stream in self.output_streams()]

    def styles(self, name: str) -> tuple[str, ...]:
        """Legal values of a style attribute, sorted; empty where any value is legal."""
        _, _, _, *legal = self.get_nodeattr_types()[name]
        return tuple(sorted(legal[0])) if legal else ()

    def follow(self, lanes: int, ch_par: int) -> None:
        """Take the layout of the engine that feeds the node (followers only)."""
        self.set_nodeattr("ch_par", ch_par)
        self.set_nodeattr(self.lane_attribute, lanes)

    def factor_step(self, name: str) -> int:
        """What a legal value of the unroll factor ``name`` is a multiple of."""
        return 1

    def read_channels(self, och_par: int) -> int:
        """Channels of a token read where ``och_par`` are written, if not chosen apart."""
        return och_par

    @property
    def relays_skip(self) -> bool:
        """Whether a residual branch that passes through goes on waiting where it came from."""
        return False

    def tail_share(self) -> float:
        """Share of a frame's work that can only be done once its last input token is there."""
        return 0.0

    def mac_counts(self) -> dict[tuple[int, int], int]:
        """Multiply-accumulates of a frame by (bits of a code, bits of a weight)."""
        return {}

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Exact integer semantics.

        Args:
            inputs: int64 codes, one array per node input; the batch axis may have any length.

        Returns:
            int64 codes, one array per node output.
        """
        raise NotImplementedError

    def problems(self) -> list[str]:
        """What is wrong with the node: empty when it is legal."""
        found = self.check_positive(*self.extents)
        for factor, extent in self.unrolled.items():
            found += self.check_parallel(factor, extent)
        for name in self.requant_attributes():
            found += self.check_requantiser(name)
        for names, given, kind in (
            (self.operands(), self.onnx_node.input, "inputs"),
            (self.results(), self.onnx_node.output, "outputs"),
        ):
            if len(names) != len(given):
                found.append(f"needs {len(names)} {kind}, found {len(given)}")
        return found

    def requant_attributes(self) -> list[str]:
        """Names of the attributes that hold requantisers."""
        return [name for name in self.attributes() if name.endswith("requant")]

    def get_nodeattr_types(self) -> AttributeTypes:
        """Own attributes and the stream depths every hardware node has."""
        # qonnx asks at every access of an attribute; the answer belongs to the class.
        kind = type(self)
        if "_attribute_types" not in kind.__dict__:
            depths: AttributeTypes = {} if self.is_host else {"out_depths": ("ints", False, [])}
            kind._attribute_types = {**self.attributes(), **depths}
        return kind._attribute_types

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

    def reads(self, kind: type[Stream]) -> list[str]:
        """Tensors that arrive as streams of ``kind``."""
        pairs = zip(self.onnx_node.input, self.input_streams(), strict=True)
        return [tensor for tensor, stream in pairs if isinstance(stream, kind)]

    def input_picture(self) -> PictureStream | None:
        """The first picture the node reads, None if it reads none."""
        return next((s for s in self.input_streams() if isinstance(s, PictureStream)), None)

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

    def check_not_negative(self, *names: str) -> list[str]:
        """Problems of integer attributes that must be at least 0."""
        values = zip(names, self.attrs(*names), strict=True)
        return [f"{name} = {value} must not be negative" for name, value in values if value < 0]

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
