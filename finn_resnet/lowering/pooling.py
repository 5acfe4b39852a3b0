"""Max and average pooling; AveragePool, GlobalAveragePool and ReduceMean are one operation.

Nodes that only pick or frame pixels (a strided Slice, a Pad) are pools of one pixel.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.convolution import Geometry, average_counts, read_geometry
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, FloatChain
from finn_resnet.numerics.ranges import Range

_RISING = {"Add", "Relu", "Clip", "Sigmoid", "Tanh", "HardSigmoid"}
"""Float arithmetic a maximum may be taken before instead of behind."""


def lower_max_pool(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of MaxPool."""
    found = interpreter.tensors[node.input[0]]
    chain = found if isinstance(found, FloatChain) and found.sum is None else None
    if chain is not None and any(other.op_type not in _RISING for other in chain.nodes):
        chain = None
    source = interpreter.codes(node.input[0]) if chain is None else chain.source
    if any(d != 1 for d in attributes(node).get("dilations", ())):
        raise Unsupported(
            f"dilations = {attributes(node)['dilations']}", "pool with an undilated kernel"
        )
    geometry = read_geometry(node, _picture(source).shape, None)
    name = node.output[0] if chain is None else f"{node.output[0]}_largest"
    pooled = emit_pool(interpreter, node, source, geometry, "max", source.named(name))
    interpreter.tensors[node.output[0]] = pooled if chain is None else replace(chain, source=pooled)


def lower_average_pool(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of AveragePool."""
    source = interpreter.codes(node.input[0])
    geometry = read_geometry(node, _picture(source).shape, None)
    _emit_average(interpreter, node, geometry, average_counts(node, geometry), flattened=False)


def lower_global_average(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of GlobalAveragePool and of ReduceMean over the picture."""
    source = interpreter.codes(node.input[0])
    flattened = False
    if node.op_type == "ReduceMean":
        rank = len(interpreter.shape(node.input[0]))
        axes = sorted(a % rank for a in _reduced_axes(interpreter, node))
        picture = [1, 2] if source.channels_last else [2, 3]
        if axes != picture or source.flattened:
            raise Unsupported(f"axes = {axes}", "average over height and width only")
        flattened = not attributes(node).get("keepdims", 1)
    elif source.channels_last or source.flattened:
        raise Unsupported("it does not average a picture [N, C, H, W]", "transpose it to NCHW")
    h, w, _ = source.shape
    geometry = Geometry(h, w, h, w, (1, 1), (0, 0, 0, 0))
    _emit_average(interpreter, node, geometry, ([h], [w]), flattened)


def _reduced_axes(interpreter: Interpreter, node: NodeProto) -> list[int]:
    if len(node.input) > 1 and node.input[1]:
        constant = interpreter.constant(node.input[1])
        if constant is None:
            raise Unsupported("its axes are computed at run time", "use constant axes")
        return [int(a) for a in constant.values]
    return list(attributes(node).get("axes", ()))


def _emit_average(
    interpreter: Interpreter,
    node: NodeProto,
    geometry: Geometry,
    counts: tuple[list[int], list[int]],
    flattened: bool,
) -> None:
    """The exact sum is the code, the division is in the scale.

    Where border windows divide by another number their sums are multiplied by what is missing to
    the common multiple of all numbers.
    """
    source = interpreter.codes(node.input[0])
    rows, columns = (lcm(*c) for c in counts)
    weights = [
        [whole // c for c in count] for whole, count in zip((rows, columns), counts, strict=True)
    ]
    divisor = rows * columns
    exact = all(
        power_of_two_exponent(Fraction(r * c)) is not None for r in counts[0] for c in counts[1]
    )
    interpreter.needs_exact_float32(exact)
    if len(source.zero) > 1 and any(geometry.pads):
        raise Unsupported("its input has one zero-point per channel", "use one zero-point")
    lo, hi = source.range
    if any(geometry.pads):
        lo, hi = source.range.including(source.zero[0])
    most = geometry.fh * geometry.fw * max(weights[0]) * max(weights[1])
    extremes = Range(min(lo * most, lo), max(hi * most, hi))
    # Pads hold the code of 0, so that every window has as many summands as its kernel.
    zero = tuple(z * geometry.fh * geometry.fw for z in source.zero)
    weighted = any(len(set(w)) > 1 for w in weights) or max(weights[0]) * max(weights[1]) > 1
    if weighted and any(zero):
        raise Unsupported(
            "count_include_pad = 0 with pads averages codes with a zero-point",
            "use count_include_pad = 1, no pads, or zero-point 0",
        )
    out = source.named(
        node.output[0],
        scale=tuple(s / divisor for s in source.scale),
        range=extremes,
        zero=zero,
        flattened=flattened,
    )
    extra = {"row_weights": weights[0], "column_weights": weights[1]} if weighted else {}
    out = emit_pool(interpreter, node, source, geometry, "average", out, **extra)
    interpreter.check_sum(out)
    interpreter.tensors[node.output[0]] = out


def _picture(source: CodeTensor) -> CodeTensor:
    if source.flattened or source.channels_last:
        raise Unsupported("it does not pool a picture [N, C, H, W]", "pool before flattening")
    return source


def emit_pool(
    interpreter: Interpreter,
    node: NodeProto,
    source: CodeTensor,
    geometry: Geometry,
    kind: str,
    out: CodeTensor,
    fill: int | None = None,
    **attrs: object,
) -> CodeTensor:
    """Pool task, behind a window buffer unless the pool covers the whole picture.

    ``fill`` is the code of pads; by default one that never wins a maximum, nor adds to a sum.
    """
    ch = source.shape[2]
    covers = (geometry.fh, geometry.fw) == (geometry.ih, geometry.iw) and not any(geometry.pads)
    feed = source.name
    if fill is None:
        fill = source.range.lo if kind == "max" else source.zero[0]
    if not covers:
        feed = interpreter.builder.unique_tensor(f"{out.name}_window")
        interpreter.builder.node(
            "WindowBuffer", f"{node.name}_window", [source.name], [feed],
            ich=ch, pad_value=fill, **geometry.as_attributes(),
        )  # fmt: skip
        shape = (1, geometry.oh, geometry.ow, geometry.fh * geometry.fw * ch)
        interpreter.builder.describe(feed, shape, source.range.including(fill))
    interpreter.builder.node(
        "StreamPool", node.name, [feed], [out.name],
        kind=kind, ch=ch, windowed=int(not covers), **geometry.as_attributes(), **attrs,
    )  # fmt: skip
    out = out.named(out.name, shape=(geometry.oh, geometry.ow, ch))
    interpreter.describe(out)
    return out
