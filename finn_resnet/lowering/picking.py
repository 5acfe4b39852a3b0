"""Nodes that pick, frame or join: Slice, Pad, Concat of channels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from onnx import NodeProto

from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.convolution import Geometry, emit_fixed_kernel
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.pick_parameters import pad_parameters, slice_parameters
from finn_resnet.lowering.pooling import emit_pool
from finn_resnet.lowering.tensors import CodeTensor
from finn_resnet.numerics.ranges import Range


def lower_slice(interpreter: Interpreter, node: NodeProto) -> None:
    """Slice with positive steps along height, width and channels."""
    source = _picture(interpreter, node)
    starts, ends, axes, steps = slice_parameters(node, _constants(interpreter, node))
    h, w, c = source.shape
    picked = {1: range(c), 2: range(h), 3: range(w)}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= 4
        if axis == 0 or step < 1:
            raise Unsupported(
                f"axis {axis}, step {step}", "slice with positive steps, not the batch"
            )
        picked[axis] = picked[axis][start:end:step]
    rows, columns, channels = picked[2], picked[3], picked[1]
    result = source
    if len(channels) < c:
        kernel = np.eye(c, dtype=np.int64)[list(channels)]
        result = emit_fixed_kernel(
            interpreter, node, result, kernel, f"{node.output[0]}_channels", [0] * len(channels)
        )
    if (len(rows), len(columns)) != (h, w):
        # Windows of one pixel: negative pads are rows nobody reads.
        result = _cropped(interpreter, node, result, rows, columns)
    interpreter.tensors[node.output[0]] = result


def _cropped(
    interpreter: Interpreter, node: NodeProto, source: CodeTensor, rows: range, columns: range
) -> CodeTensor:
    """Every ``step``-th pixel from the first on."""
    kernel = (rows.start + 1, columns.start + 1)
    if kernel != (1, 1) and rows.start + columns.start > 0:
        raise Unsupported(
            f"it starts at row {rows.start}, column {columns.start}", "slice from the first pixel"
        )
    h, w, _ = source.shape
    geometry = Geometry(h, w, 1, 1, (rows.step, columns.step), (0, 0, 0, 0))
    if (geometry.oh, geometry.ow) != (len(rows), len(columns)):
        raise Unsupported("it stops before the last pixel", "slice up to the end")
    name = node.output[0]
    return emit_pool(interpreter, node, source, geometry, "max", source.named(name))


def _constants(interpreter: Interpreter, node: NodeProto) -> list[np.ndarray]:
    """Values of the inputs behind the first."""
    found = [interpreter.constant(name) for name in node.input[1:] if name]
    if any(c is None for c in found):
        raise Unsupported("its parameters are computed at run time", "export constants")
    return [c.values for c in found]


def lower_pad(interpreter: Interpreter, node: NodeProto) -> None:
    """Pad with a constant: rows, columns, channels."""
    source = _picture(interpreter, node)
    attrs = attributes(node)
    if attrs.get("mode", b"constant") != b"constant":
        raise Unsupported(f"mode = {attrs['mode'].decode()}", "pad with a constant")
    pads, value = pad_parameters(node, _constants(interpreter, node))
    if pads[0] or pads[4] or min(pads) < 0:
        raise Unsupported(f"pads = {pads}", "pad channels, rows and columns, by no negative number")
    code = _code_of(source, value)
    result = source
    if pads[1] or pads[5]:
        kernel = np.pad(np.eye(source.shape[2], dtype=np.int64), ((pads[1], pads[5]), (0, 0)))
        bias = [code] * pads[1] + [0] * source.shape[2] + [code] * pads[5]
        name = node.output[0] if not any(pads[i] for i in (2, 3, 6, 7)) else f"{node.output[0]}_ch"
        result = emit_fixed_kernel(interpreter, node, source, kernel, name, bias)
    if any(pads[i] for i in (2, 3, 6, 7)):
        h, w, _ = source.shape
        geometry = Geometry(h, w, 1, 1, (1, 1), (pads[2], pads[3], pads[6], pads[7]))
        out = result.named(node.output[0], range=result.range.including(code))
        result = emit_pool(interpreter, node, result, geometry, "max", out, fill=code)
    interpreter.tensors[node.output[0]] = result


def _code_of(source: CodeTensor, value: Fraction) -> int:
    code = value / source.scale[0] + source.zero[0]
    if len(source.scale) > 1 or len(source.zero) > 1 or code.denominator != 1:
        raise Unsupported(
            f"it pads with {float(value):g}, which is no code of its input", "pad with 0"
        )
    return int(code)


def lower_concat(interpreter: Interpreter, node: NodeProto) -> None:
    """Concat of channels, which keep their own scales and zero-points."""
    parts = [_picture(interpreter, node, name) for name in node.input]
    axis = int(attributes(node).get("axis", 1)) % 4
    if axis != 1:
        raise Unsupported(f"axis = {axis}", "concatenate channels (axis 1)")
    sizes = {part.shape[:2] for part in parts}
    if len(sizes) > 1:
        raise Unsupported(f"its inputs have sizes {sorted(sizes)}", "join pictures of one size")
    name, (h, w) = node.output[0], sizes.pop()
    channels = [part.shape[2] for part in parts]
    joined = parts[0].named(
        name,
        shape=(h, w, sum(channels)),
        scale=_per_channel(parts, "scale"),
        zero=_per_channel(parts, "zero"),
        range=Range(min(p.range.lo for p in parts), max(p.range.hi for p in parts)),
    )
    if len(parts) == 1:
        interpreter.tensors[name] = parts[0]
        return
    interpreter.builder.node(
        "StreamConcat", node.name, [part.name for part in parts], [name],
        h=h, w=w, ch=sum(channels), parts=channels,
    )  # fmt: skip
    interpreter.describe(joined)
    interpreter.tensors[name] = joined


def _per_channel(parts: list[CodeTensor], name: str) -> tuple:
    """A property of every channel of the joined parts; one value where all agree."""
    values = []
    for part in parts:
        own = getattr(part, name)
        values += [own[c % len(own)] for c in range(part.shape[2])]
    return tuple(values[:1]) if len(set(values)) == 1 else tuple(values)


def _picture(interpreter: Interpreter, node: NodeProto, name: str | None = None) -> CodeTensor:
    source = interpreter.codes(name or node.input[0])
    if source.flattened or source.channels_last:
        raise Unsupported("its input is no picture [N, C, H, W]", "apply it before flattening")
    return source
