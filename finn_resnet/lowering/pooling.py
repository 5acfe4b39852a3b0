"""Max and average pooling; AveragePool, GlobalAveragePool and ReduceMean are one operation."""

from __future__ import annotations

from fractions import Fraction

from onnx import NodeProto

from finn_resnet.importing.quantiser import power_of_two_exponent
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.convolution import Geometry, read_geometry
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor
from finn_resnet.numerics.ranges import Range


def lower_max_pool(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of MaxPool."""
    source = interpreter.codes(node.input[0])
    geometry = read_geometry(node, source.shape, None)
    _emit(interpreter, node, geometry, "max", source.named(node.output[0]))


def lower_average_pool(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of AveragePool."""
    source = interpreter.codes(node.input[0])
    geometry = read_geometry(node, source.shape, None)
    if any(geometry.pads) and not attributes(node).get("count_include_pad", 0):
        raise Unsupported(
            "count_include_pad = 0 with pads divides border windows by another number",
            "use count_include_pad = 1 or no pads",
        )
    _emit_average(interpreter, node, geometry, flattened=False)


def lower_global_average(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of GlobalAveragePool and of ReduceMean over the picture."""
    source = interpreter.codes(node.input[0])
    flattened = False
    if node.op_type == "ReduceMean":
        axes = _reduced_axes(interpreter, node)
        if sorted(a % 4 for a in axes) != [2, 3] or source.flattened:
            raise Unsupported(f"axes = {list(axes)}", "average over height and width only")
        flattened = not attributes(node).get("keepdims", 1)
    h, w, _ = source.shape
    _emit_average(interpreter, node, Geometry(h, w, h, w, (1, 1), (0, 0, 0, 0)), flattened)


def _reduced_axes(interpreter: Interpreter, node: NodeProto) -> list[int]:
    if len(node.input) > 1 and node.input[1]:
        constant = interpreter.constant(node.input[1])
        if constant is None:
            raise Unsupported("its axes are computed at run time", "use constant axes")
        return [int(a) for a in constant.values]
    return list(attributes(node).get("axes", ()))


def _emit_average(
    interpreter: Interpreter, node: NodeProto, geometry: Geometry, flattened: bool
) -> None:
    source = interpreter.codes(node.input[0])
    count = geometry.fh * geometry.fw
    # The exact sum is the code, the division is in the scale.
    interpreter.needs_exact_float32(power_of_two_exponent(Fraction(count)) is not None)
    lo, hi = source.range.including(0) if any(geometry.pads) else source.range
    out = source.named(
        node.output[0],
        scale=tuple(s / count for s in source.scale),
        range=Range(lo * count, hi * count),
        flattened=flattened,
    )
    _emit(interpreter, node, geometry, "average", out)


def _emit(
    interpreter: Interpreter, node: NodeProto, geometry: Geometry, kind: str, out: CodeTensor
) -> None:
    """Pool task, behind a window buffer unless the pool covers the whole picture."""
    source = interpreter.codes(node.input[0])
    if source.flattened:
        raise Unsupported("it pools a flattened tensor", "pool before flattening")
    ch = source.shape[2]
    covers = (geometry.fh, geometry.fw) == (geometry.ih, geometry.iw) and not any(geometry.pads)
    feed = source.name
    if not covers:
        feed = f"{out.name}_window"
        # A padding code must never win a maximum, nor add to a sum.
        fill = source.range.lo if kind == "max" else 0
        interpreter.builder.node(
            "WindowBuffer", f"{node.name}_window", [source.name], [feed],
            ich=ch, pad_value=fill, **geometry.as_attributes(),
        )  # fmt: skip
        shape = (1, geometry.oh, geometry.ow, geometry.fh * geometry.fw * ch)
        interpreter.builder.describe(feed, shape, source.range.including(fill))
    interpreter.builder.node(
        "StreamPool", node.name, [feed], [out.name],
        kind=kind, ch=ch, windowed=int(not covers), **geometry.as_attributes(),
    )  # fmt: skip
    out = out.named(out.name, shape=(geometry.oh, geometry.ow, ch))
    if kind == "average":
        interpreter.check_sum(out)
    interpreter.describe(out)
    interpreter.tensors[node.output[0]] = out
