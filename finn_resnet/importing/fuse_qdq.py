"""FuseQdq: QuantizeLinear and DequantizeLinear pairs become quantiser nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.general.intquant import max_int, min_int
from qonnx.transformation.base import Transformation

QONNX_DOMAIN = "qonnx.custom_op.general"
OWN_DOMAIN = "finn_resnet.custom_ops"
_LAYOUT_OPS = ("Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Slice")
_EXACT_CODES = 1 << 22
"""Codes up to this survive the product with a float32 scale and the division by it."""


class FuseQdq(Transformation):
    """[QuantizeLinear ->] [Clip ->] [layout nodes ->] DequantizeLinear becomes a Quant node.

    Weights and biases may be integers already. An odd zero-point needs `LinearQuant`, since qonnx's
    Quant adds the zero-point before it rounds. A pair whose ends differ, and a single end, stay.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        while _pull_over_layout(model):
            pass
        for node in [n for n in model.graph.node if n.op_type == "DequantizeLinear"]:
            _fuse_parameter(model, node)
        for node in [n for n in model.graph.node if n.op_type == "QuantizeLinear"]:
            _fuse_activation(model, node)
        return model, False


@dataclass(frozen=True)
class _Linear:
    """Parameters of either node; ``zero`` carries the integer type."""

    scale: np.ndarray
    zero: np.ndarray
    axis: int

    def same(self, other: _Linear) -> bool:
        return (
            np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero, other.zero)
            and self.zero.dtype == other.zero.dtype
            and (self.scale.size == 1 or self.axis == other.axis)
        )

    def spread(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Scale and zero-point in a shape that broadcasts along the axis."""
        if self.scale.size == 1:
            return self.scale.reshape(()), self.zero.ravel()[0].reshape(())
        shape = [1] * rank
        shape[self.axis % rank] = -1
        zero = np.broadcast_to(self.zero, self.scale.shape)
        return self.scale.reshape(shape), zero.reshape(shape)


def _read(model: ModelWrapper, node: NodeProto) -> _Linear | None:
    scale = model.get_initializer(node.input[1])
    zero = np.zeros((), _integer_type(model, node))
    if len(node.input) > 2 and node.input[2]:
        zero = model.get_initializer(node.input[2])
    if scale is None or zero is None or scale.ndim > 1:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
    return _Linear(scale.astype(np.float32), zero, int(axis))


def _integer_type(model: ModelWrapper, node: NodeProto) -> np.dtype:
    """Type without a zero-point: that of integers given, uint8 for what is quantised here."""
    given = model.get_initializer(node.input[0]) if node.op_type == "DequantizeLinear" else None
    return np.dtype(np.uint8) if given is None else given.dtype


def _consumers(model: ModelWrapper, tensor: str) -> list[NodeProto]:
    return [n for n in model.graph.node if tensor in n.input]


def _is_output(model: ModelWrapper, tensor: str) -> bool:
    return any(t.name == tensor for t in model.graph.output)


def _replace_reads(model: ModelWrapper, old: str, new: str) -> None:
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new


def _pull_over_layout(model: ModelWrapper) -> bool:
    """QuantizeLinear -> Reshape -> DequantizeLinear: the last two change places."""
    for node in model.graph.node:
        if node.op_type not in _LAYOUT_OPS or not _comes_from_quantize(model, node.input[0]):
            continue
        readers, tensor = _consumers(model, node.output[0]), node.output[0]
        if not readers or any(r.op_type != "DequantizeLinear" for r in readers):
            continue
        found = [_read(model, r) for r in readers]
        if any(f is None or f.scale.size != 1 or not f.same(found[0]) for f in found):
            continue
        if _is_output(model, tensor):
            continue
        _swap(model, node, readers)
        return True
    return False


def _comes_from_quantize(model: ModelWrapper, tensor: str) -> bool:
    producer = model.find_producer(tensor)
    while producer is not None and producer.op_type in (*_LAYOUT_OPS, "Clip"):
        producer = model.find_producer(producer.input[0])
    return producer is not None and producer.op_type == "QuantizeLinear"


def _swap(model: ModelWrapper, layout: NodeProto, readers: list[NodeProto]) -> None:
    first = readers[0]
    floats = f"{layout.input[0]}_dequantized_{first.output[0]}"
    first.input[0], layout.input[0] = layout.input[0], floats
    result, first.output[0] = first.output[0], floats
    layout.output[0] = result
    for other in readers[1:]:
        _take_over(model, other.output[0], result)
        model.graph.node.remove(other)
    # Keep the order of execution.
    model.graph.node.remove(first)
    model.graph.node.insert(list(model.graph.node).index(layout), first)


def _take_over(model: ModelWrapper, old: str, new: str) -> None:
    """Readers of ``old`` read ``new``; an output of the graph gets a node of its own."""
    _replace_reads(model, old, new)
    if _is_output(model, old):
        model.graph.node.append(helper.make_node("Identity", [new], [old], name=f"{old}_copy"))


def _clip_bounds(model: ModelWrapper, node: NodeProto, zero: np.ndarray) -> tuple[int, int] | None:
    info = np.iinfo(zero.dtype)
    limits = [info.min, info.max]
    for index, name in enumerate(node.input[1:3]):
        if name:
            value = model.get_initializer(name)
            if value is None or value.size != 1:
                return None
            limits[index] = int(np.ravel(value)[0])
    return int(limits[0]), int(limits[1])


def _fuse_parameter(model: ModelWrapper, node: NodeProto) -> None:
    """DequantizeLinear of a parameter, quantised in the graph or integer already."""
    found = _read(model, node)
    if found is None:
        return
    chain, tensor = [node], node.input[0]
    clip = model.find_producer(tensor)
    bounds = _full_range(found)
    if clip is not None and clip.op_type == "Clip":
        bounds = _clip_bounds(model, clip, found.zero)
        chain, tensor = [*chain, clip], clip.input[0]
    values = model.get_initializer(tensor)
    quantize = model.find_producer(tensor)
    if values is None and quantize is not None and quantize.op_type == "QuantizeLinear":
        given = _read(model, quantize)
        values = model.get_initializer(quantize.input[0])
        if values is None or given is None or not given.same(found):
            return
        chain, tensor = [*chain, quantize], quantize.input[0]
    elif values is not None:
        scale, zero = found.spread(values.ndim)
        codes = values.astype(np.int64) - zero.astype(np.int64)
        if np.abs(codes).max(initial=0) >= _EXACT_CODES:
            return
        tensor = f"{tensor}_values_of_{node.output[0]}"
        values = (codes * scale.astype(np.float64)).astype(np.float32)
        model.set_initializer(tensor, values)
    if values is None or bounds is None:
        return
    _install(model, node, found, tensor, bounds, values.ndim)
    _remove_unread(model, chain)


def _full_range(found: _Linear) -> tuple[int, int]:
    info = np.iinfo(found.zero.dtype)
    return int(info.min), int(info.max)


def _fuse_activation(model: ModelWrapper, node: NodeProto) -> None:
    """QuantizeLinear -> [Clip] -> DequantizeLinear, however many of the last."""
    found = _read(model, node)
    if found is None or _is_output(model, node.output[0]):
        return
    readers, chain, bounds = _consumers(model, node.output[0]), [node], _full_range(found)
    if len(readers) == 1 and readers[0].op_type == "Clip":
        bounds = _clip_bounds(model, readers[0], found.zero)
        chain.insert(0, readers[0])
        readers = _consumers(model, readers[0].output[0])
    pairs = [_read(model, r) for r in readers if r.op_type == "DequantizeLinear"]
    if bounds is None or not readers or len(pairs) != len(readers):
        return
    if any(pair is None or not pair.same(found) for pair in pairs):
        return
    rank = len(model.get_tensor_shape(node.input[0]) or (1, 1, 1, 1))
    first, *others = readers
    for other in others:
        _take_over(model, other.output[0], first.output[0])
        model.graph.node.remove(other)
    _install(model, first, found, node.input[0], bounds, rank)
    _remove_unread(model, [first, *chain])


def _install(
    model: ModelWrapper,
    node: NodeProto,
    found: _Linear,
    source: str,
    bounds: tuple[int, int],
    rank: int,
) -> None:
    """A quantiser of ``source`` in the place of DequantizeLinear ``node``."""
    scale, zero = found.spread(rank)
    width = _width(bounds)
    full = width if width is not None else _width(_full_range(found))
    result = node.output[0] if width is not None else f"{node.output[0]}_unclipped"
    names = [f"{node.output[0]}_{part}" for part in ("scale", "zero", "bits")]
    for name, value in zip(names, (scale, zero, full[0]), strict=True):
        model.set_initializer(name, np.asarray(value, np.float32))
    odd = bool(np.any(np.abs(zero.astype(np.int64)) % 2))
    made = helper.make_node(
        "LinearQuant" if odd else "Quant", [source, *names], [result], name=f"{node.name}_quant",
        domain=OWN_DOMAIN if odd else QONNX_DOMAIN, signed=int(full[1]), narrow=int(full[2]),
        rounding_mode="ROUND",
    )  # fmt: skip
    index = list(model.graph.node).index(node)
    model.graph.node.insert(index, made)
    if width is None:
        limits = [f"{node.output[0]}_{end}" for end in ("lowest", "highest")]
        for name, bound in zip(limits, bounds, strict=True):
            value = (bound - zero.astype(np.int64)) * scale
            model.set_initializer(name, np.asarray(value, np.float32).reshape(()))
        clip = helper.make_node("Clip", [result, *limits], [node.output[0]], f"{node.name}_clip")
        model.graph.node.insert(index + 1, clip)
    # The tensor has two writers until the old one goes.
    node.output[0] = f"{node.output[0]}_replaced"


def _width(bounds: tuple[int, int]) -> tuple[int, bool, bool] | None:
    """(bits, signed, narrow) of a quantiser with these bounds, None where there is none."""
    for bits in range(1, 33):
        for signed in (False, True):
            for narrow in (False, True):
                if bits == 1 and signed:
                    continue
                ends = int(min_int(signed, narrow, bits)), int(max_int(signed, narrow, bits))
                if ends == bounds:
                    return bits, signed, narrow
    return None


def _remove_unread(model: ModelWrapper, nodes: list[NodeProto]) -> None:
    """Remove nodes, readers first, as far as nobody reads them."""
    for node in nodes:
        read = any(_consumers(model, name) or _is_output(model, name) for name in node.output)
        if node in list(model.graph.node) and not read:
            model.graph.node.remove(node)
