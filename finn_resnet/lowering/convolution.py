"""Convolutions and classifiers: window buffer, parameter task and computation task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from onnx import NodeProto, helper

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.custom_ops.window import output_size
from finn_resnet.importing.quantiser import is_quant
from finn_resnet.lowering.arithmetic import add_on_grid
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.interpreter import Interpreter, Unsupported, fractions_of, times
from finn_resnet.lowering.tensors import CodeTensor, Constant, FloatChain
from finn_resnet.numerics.ranges import Range

WIDEST_GROUP = 16
"""Weights of a group and tap up to which groups are computed apart, one whole group at a time."""
MAX_WEIGHT_BITS = 9
"""8-bit weights with a zero-point take one bit more."""


@dataclass(frozen=True)
class Geometry:
    """Window geometry of one layer, in the custom ops' terms."""

    ih: int
    iw: int
    fh: int
    fw: int
    stride: tuple[int, int]
    pads: tuple[int, int, int, int]
    """top, left, bottom, right"""

    @property
    def oh(self) -> int:
        """Output rows."""
        return output_size(self.ih, self.fh, self.stride[0], self.pads[0] + self.pads[2])

    @property
    def ow(self) -> int:
        """Output columns."""
        return output_size(self.iw, self.fw, self.stride[1], self.pads[1] + self.pads[3])

    def as_attributes(self) -> dict[str, object]:
        """Node attributes."""
        return {
            "ih": self.ih, "iw": self.iw, "oh": self.oh, "ow": self.ow,
            "fh": self.fh, "fw": self.fw,
            "stride": list(self.stride), "pads": list(self.pads),
        }  # fmt: skip


def read_geometry(
    node: NodeProto, shape: tuple[int, int, int], kernel: tuple[int, int] | None
) -> Geometry:
    """Geometry of a Conv or pooling node on a picture (H, W, C).

    ``kernel`` is that of the weights, dilated; None for a pool. With ``ceil_mode`` a window that
    starts inside the padded picture counts though it ends outside: more padding at the end.

    Raises:
        Unsupported: an automatic padding name onnx does not define, a kernel that does not fit.
    """
    attrs = attributes(node)
    fh, fw = kernel or attrs["kernel_shape"]
    stride = tuple(attrs.get("strides", (1, 1)))
    pads = tuple(attrs.get("pads", (0, 0, 0, 0)))
    auto = attrs.get("auto_pad", b"NOTSET").decode()
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = _same_pads(shape, (fh, fw), stride, auto == "SAME_UPPER")
    elif auto not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad = {auto}", "use explicit pads")
    if attrs.get("ceil_mode", 0):
        pads = _ceil_pads(shape, (fh, fw), stride, pads)
    geometry = Geometry(shape[0], shape[1], fh, fw, stride, pads)
    if geometry.oh < 1 or geometry.ow < 1:
        raise Unsupported(
            f"a {fh}x{fw} kernel does not fit a {shape[0]}x{shape[1]} picture", "check the sizes"
        )
    return geometry


def _ceil_pads(
    shape: tuple[int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pads: tuple[int, int, int, int],
) -> tuple[int, int, int, int]:
    begin, end = list(pads[:2]), list(pads[2:])
    for axis, (size, f, s) in enumerate(zip(shape[:2], kernel, stride, strict=True)):
        padded = size + begin[axis] + end[axis]
        count = -(-(padded - f) // s) + 1
        # The last window must start inside the picture or its padding before it.
        count -= (count - 1) * s >= size + begin[axis]
        end[axis] += max((count - 1) * s + f - padded, 0)
    return begin[0], begin[1], end[0], end[1]


def _same_pads(
    shape: tuple[int, int, int], kernel: tuple[int, int], stride: tuple[int, int], upper: bool
) -> tuple[int, int, int, int]:
    begin, end = [], []
    for size, f, s in zip(shape[:2], kernel, stride, strict=True):
        total = max((-(-size // s) - 1) * s + f - size, 0)
        small, large = total // 2, total - total // 2
        begin.append(small if upper else large)
        end.append(large if upper else small)
    return begin[0], begin[1], end[0], end[1]


def average_counts(node: NodeProto, geometry: Geometry) -> tuple[list[int], list[int]]:
    """Rows and columns the average of each output row and column of an AveragePool divides by.

    Pads count where the node says so; what ceil_mode adds beyond them counts for nothing.
    """
    attrs = attributes(node)
    given = tuple(attrs.get("pads", (0, 0, 0, 0)))
    if attrs.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
        given = geometry.pads
    counted = given if attrs.get("count_include_pad", 0) else (0, 0, 0, 0)
    sizes = ((geometry.ih, geometry.oh, geometry.fh), (geometry.iw, geometry.ow, geometry.fw))
    found = []
    for axis, (size, out, kernel) in enumerate(sizes):
        starts = [p * geometry.stride[axis] - given[axis] for p in range(out)]
        low, high = -counted[axis], size + counted[axis + 2]
        found.append([min(s + kernel, high) - max(s, low) for s in starts])
    return found[0], found[1]


def lower_conv(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Conv; one of few wide groups is a full one whose other weights are 0."""
    source = interpreter.codes(node.input[0])
    weights = _weights(interpreter, node)
    if source.flattened or source.channels_last or weights.codes.ndim != 4:
        raise Unsupported(
            "it is not two-dimensional", "use 2-D convolutions on pictures [N, C, H, W]"
        )
    group = attributes(node).get("group", 1)
    dilation = tuple(attributes(node).get("dilations", (1, 1)))
    codes = weights.codes
    if (len(codes) // group) * codes.shape[1] > WIDEST_GROUP:
        codes, group = _dense_groups(codes, group), 1
    codes = dilated(codes.transpose(0, 2, 3, 1), dilation)
    geometry = read_geometry(node, source.shape, codes.shape[1:3])
    codes, geometry = _without_idle_taps(codes, geometry)
    layer = _Layer(node, source, geometry, codes, scale_per_output(weights, axis=0), group)
    _emit(interpreter, layer, _bias(interpreter, node), flattened=False)


def _dense_groups(codes: np.ndarray, group: int) -> np.ndarray:
    """Weights [och, ich / group, fh, fw] as [och, ich, fh, fw]."""
    if group == 1:
        return codes
    och, part, fh, fw = codes.shape
    full = np.zeros((och, part * group, fh, fw), codes.dtype)
    for index in range(group):
        rows = slice(index * och // group, (index + 1) * och // group)
        full[rows, index * part : (index + 1) * part] = codes[rows]
    return full


def dilated(codes: np.ndarray, dilation: tuple[int, int]) -> np.ndarray:
    """Kernel [och, fh, fw, ich] with zeros between its taps."""
    if dilation == (1, 1):
        return codes
    och, fh, fw, ich = codes.shape
    extent = ((fh - 1) * dilation[0] + 1, (fw - 1) * dilation[1] + 1)
    full = np.zeros((och, *extent, ich), codes.dtype)
    full[:, :: dilation[0], :: dilation[1]] = codes
    return full


def _without_idle_taps(codes: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, Geometry]:
    """Kernel and geometry without the outer rows and columns that only ever see padding."""
    top, left = geometry.pads[:2]
    rows = _used(geometry.ih, geometry.oh, geometry.fh, geometry.stride[0], top)
    columns = _used(geometry.iw, geometry.ow, geometry.fw, geometry.stride[1], left)
    kernel = (rows.stop - rows.start, columns.stop - columns.start)
    sizes = ((geometry.ih, geometry.oh), (geometry.iw, geometry.ow))
    begin = [top - rows.start, left - columns.start]
    end = [
        max((out - 1) * stride + k - size - first, 0)
        for (size, out), stride, k, first in zip(sizes, geometry.stride, kernel, begin, strict=True)
    ]
    if min(begin) < 0 or kernel == (geometry.fh, geometry.fw):
        return codes, geometry
    cropped = replace(geometry, fh=kernel[0], fw=kernel[1], pads=(*begin, *end))
    return codes[:, rows, columns], cropped


def _used(size: int, out: int, kernel: int, stride: int, pad: int) -> slice:
    """Taps from the first to the last that sees the picture in some window."""
    seen = [
        tap
        for tap in range(kernel)
        if any(0 <= position * stride + tap - pad < size for position in range(out))
    ]
    return slice(seen[0], seen[-1] + 1) if seen else slice(0, kernel)


def lower_dense(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Gemm and MatMul: a convolution whose kernel covers the whole picture."""
    attrs = attributes(node)
    for name, legal in (("alpha", 1.0), ("beta", 1.0), ("transA", 0)):
        if attrs.get(name, legal) != legal:
            raise Unsupported(f"{name} = {attrs[name]}", f"export with {name} = {legal:g}")
    source = interpreter.codes(node.input[0])
    weights = _weights(interpreter, node)
    h, w, c = source.shape
    features = source.flattened or (h * w == 1 and source.channels_last)
    if weights.codes.ndim != 2 or not features:
        raise Unsupported("it is not a product with a weight matrix", "flatten before it")
    transposed = bool(attrs.get("transB", 0))
    matrix = weights.codes if transposed else weights.codes.T
    if matrix.shape[1] != h * w * c:
        raise Unsupported(
            f"{matrix.shape[1]} weights per output for {h * w * c} inputs", "check the sizes"
        )
    if source.channels_last:
        codes = matrix.reshape(-1, h, w, c)
    else:
        codes = matrix.reshape(-1, c, h, w).transpose(0, 2, 3, 1)
    scale = scale_per_output(weights, axis=0 if transposed else 1)
    geometry = Geometry(h, w, h, w, (1, 1), (0, 0, 0, 0))
    layer = _Layer(node, source, geometry, codes, scale)
    _emit(interpreter, layer, _bias(interpreter, node), flattened=True)


@dataclass(frozen=True)
class _Layer:
    """What `_emit` needs of a convolution; ``codes`` is [och, fh, fw, ich / group]."""

    node: NodeProto
    source: CodeTensor
    geometry: Geometry
    codes: np.ndarray
    scale: tuple[Fraction, ...]
    group: int = 1

    def per_weight(self, values: tuple[int, ...]) -> np.ndarray:
        """A value of every input channel (or one for all) at the weights it belongs to."""
        found = np.array(values, np.int64)
        if len(values) == 1 or self.group == 1:
            return found
        outputs = np.arange(len(self.codes)) * self.group // len(self.codes)
        return found.reshape(self.group, -1)[outputs][:, None, None, :]

    @property
    def bits(self) -> int:
        """Width of the weights."""
        return max(Range(int(self.codes.min()), int(self.codes.max())).including(-1).bits, 2)


def _weights(interpreter: Interpreter, node: NodeProto) -> Constant:
    found = interpreter.constant(node.input[1])
    if found is None:
        raise Unsupported("its weights are computed at run time", "use constant weights")
    if found.codes is None:
        raise Unsupported("its weights have no Quant node", "quantise the weights")
    bits = Range(int(found.codes.min()), int(found.codes.max())).bits
    if bits > MAX_WEIGHT_BITS:
        raise Unsupported(f"weight bit width = {bits}", "use at most 8 bits")
    return found


def scale_per_output(weights: Constant, axis: int) -> tuple[Fraction, ...]:
    """Weight scale per output, as ONNX broadcasts it; ``axis`` is that of the outputs.

    Raises:
        Unsupported: the scale varies within an output's weights.
    """
    full = np.broadcast_to(weights.scale, weights.codes.shape)
    rows = np.moveaxis(full, axis, 0).reshape(full.shape[axis], -1)
    if np.any(rows != rows[:, :1]):
        raise Unsupported(
            f"a weight scale of shape {list(weights.scale.shape)} varies within the weights "
            f"{list(full.shape)} of one output",
            "use one scale per output channel (shape [O, 1, 1, 1] on a convolution)",
        )
    return fractions_of(rows[:, 0])


def _bias(interpreter: Interpreter, node: NodeProto) -> np.ndarray | None:
    """Exact bias values [och] or [1]."""
    if len(node.input) < 3 or not node.input[2]:
        return None
    found = interpreter.constant(node.input[2])
    if found is None:
        raise Unsupported("its bias is computed at run time", "use a constant bias")
    values = np.ravel(found.exact())
    return values if values.dtype == object else values.astype(np.float64)


def _emit(
    interpreter: Interpreter, layer: _Layer, bias: np.ndarray | None, flattened: bool
) -> None:
    """Window buffer, parameter task, computation task, and a bias that is off the grid."""
    node, och = layer.node, len(layer.codes)
    layer = _on_one_scale(layer)
    source = layer.source
    zeros = _zero_sums(layer)
    scale = times(source.scale, layer.scale)
    wanted = _bias_units(bias, scale, och)
    whole = [round(value) for value in wanted]
    rest = [value - near for value, near in zip(wanted, whole, strict=True)]
    acc_bias = np.array([int(v) for v in whole], np.int64) - zeros
    name = node.output[0] if not any(rest) else f"{node.output[0]}_product"
    out = CodeTensor(
        name,
        scale,
        accumulator_range(layer.codes, acc_bias, _padded_range(layer)),
        (layer.geometry.oh, layer.geometry.ow, och),
        flattened,
    )
    if out.range.bits > 32:
        raise Unsupported(f"its sums take {out.range.bits} bits", "use a smaller bias")
    _emit_nodes(interpreter, layer, acc_bias, out)
    interpreter.check_sum(out)
    interpreter.tensors[name] = out
    result: CodeTensor | FloatChain = out
    if any(rest):
        exact = [r * scale[i % len(scale)] for i, r in enumerate(rest)]
        result = _add_rest(interpreter, node, out, exact)
    interpreter.tensors[node.output[0]] = result


def _padded_range(layer: _Layer) -> Range:
    """Range of the codes a window may hold: the code of zero pads."""
    codes = layer.source.range
    return codes.including(layer.source.zero[0]) if any(layer.geometry.pads) else codes


def _zero_sums(layer: _Layer) -> np.ndarray:
    """What the zero-point of the input adds to every accumulator, [och]."""
    zero = layer.source.zero
    if len(zero) > 1 and any(layer.geometry.pads):
        raise Unsupported(
            "its input has one zero-point per channel and is padded", "use one zero-point"
        )
    return (layer.codes * layer.per_weight(zero)).reshape(len(layer.codes), -1).sum(axis=1)


def _on_one_scale(layer: _Layer) -> _Layer:
    """Scales of the input that differ between channels become part of the weights.

    Raises:
        Unsupported: their ratios are no whole numbers that 8-bit weights can hold.
    """
    scales = layer.source.scale
    if len(scales) == 1:
        return layer
    denominator = lcm(*(s.denominator for s in scales))
    unit = Fraction(gcd(*(int(s * denominator) for s in scales)), denominator)
    factors = [s / unit for s in scales]
    if max(factors) < 1 << 16:
        codes = layer.codes * layer.per_weight(tuple(int(f) for f in factors))
        if Range(int(codes.min()), int(codes.max())).bits <= MAX_WEIGHT_BITS:
            source = layer.source.named(layer.source.name, scale=(unit,))
            return replace(layer, source=source, codes=codes)
    raise Unsupported(
        f"its input has {len(set(scales))} different scales, which its weights cannot take in",
        "use one activation scale, or powers of two with narrower weights",
    )


def _bias_units(bias: np.ndarray | None, scale: tuple[Fraction, ...], och: int) -> list[Fraction]:
    """Bias in units of the accumulator."""
    if bias is None:
        return [Fraction(0)] * och
    values = [Fraction(b) for b in bias.tolist()]
    values = values * och if len(values) == 1 else values
    return [value / scale[i % len(scale)] for i, value in enumerate(values)]


def _reaches_codes(interpreter: Interpreter, tensor: str) -> bool:
    """Whether a quantiser or a layer lies behind a tensor; else the host alone sees it."""
    nodes = [n for n in interpreter.model.graph.node if tensor in n.input]
    layers = ("Conv", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool")
    return any(
        is_quant(n) or n.op_type in layers or any(_reaches_codes(interpreter, t) for t in n.output)
        for n in nodes
    )


def _add_rest(
    interpreter: Interpreter, node: NodeProto, out: CodeTensor, rest: list[Fraction]
) -> CodeTensor | FloatChain:
    """What a bias has between two steps of the accumulator, as a float chain.

    The accumulator holds the nearest whole number, so that the next Quant mostly has the same
    thresholds for all channels.
    """
    interpreter.rests[out.name] = tuple(rest)
    if out.exponent is not None:
        added = np.array([float(r) for r in rest])
        if all(Fraction(a) == r for a, r in zip(added.tolist(), rest, strict=True)):
            exact = add_on_grid(interpreter, out, added, node.output[0])
            if exact is not None:
                return exact
    # float32 rounds inside the convolution's own sum: only the contract is a reference for codes.
    interpreter.needs_exact_float32(not _reaches_codes(interpreter, node.output[0]))
    constant = f"{node.output[0]}_bias"
    addition = helper.make_node("Add", [out.name, constant], [node.output[0]])
    values = np.empty(len(rest), object)
    values[:] = rest
    return FloatChain(out, (addition,), {constant: values})


def _emit_nodes(interpreter: Interpreter, layer: _Layer, bias: np.ndarray, out: CodeTensor) -> None:
    build, geometry = interpreter.builder, layer.geometry
    name = layer.node.name
    och, fh, fw, part = layer.codes.shape
    ich, per = part * layer.group, och // layer.group
    grouped = layer.group > 1
    # A grouped convolution takes whole groups at a time, one until the search chooses.
    outputs, inputs = (per, part) if grouped else (1, 1)
    padded = _padded_range(layer)
    # Without pads it fills columns that no output reads: still a code the multipliers expect.
    pad_value = min(max(layer.source.zero[0], padded.lo), padded.hi)
    window, stream = (build.unique_tensor(f"{out.name}_{n}") for n in ("window", "weights"))
    build.node(
        "WindowBuffer", f"{name}_window", [layer.source.name], [window],
        ich=ich, ich_par=inputs, pad_value=pad_value, **geometry.as_attributes(),
    )  # fmt: skip
    build.describe(window, (1, geometry.oh, geometry.ow, fh * fw * ich), padded)
    weights = build.initialiser(build.unique_tensor(f"{out.name}_weight_codes"), layer.codes)
    build.node(
        "ParameterStream", f"{name}_weights", [weights], [stream],
        och=och, ich=part, fh=fh, fw=fw, och_par=outputs, ich_par=inputs,
        repeats=geometry.oh * geometry.ow, bits=layer.bits,
    )  # fmt: skip
    build.describe(stream, layer.codes.shape, _code_range(layer.codes))
    offsets = build.initialiser(build.unique_tensor(f"{out.name}_bias_codes"), bias)
    build.node(
        "StreamGroupedConv" if grouped else "StreamConv", name, [window, stream, offsets],
        [out.name], ich=ich, och=och, group=layer.group, och_par=outputs,
        in_lo=padded.lo, in_hi=padded.hi, weight_bits=layer.bits, **geometry.as_attributes(),
    )  # fmt: skip
    interpreter.describe(out)


def _code_range(codes: np.ndarray) -> Range:
    return Range(int(codes.min(initial=0)), int(codes.max(initial=0)))


def emit_fixed_kernel(
    interpreter: Interpreter,
    node: NodeProto,
    source: CodeTensor,
    kernel: np.ndarray,
    name: str,
    bias: list[int],
) -> CodeTensor:
    """1x1 convolution of the codes themselves with 0-1 weights [och, ich]: picks channels."""
    h, w, _ = source.shape
    geometry = Geometry(h, w, 1, 1, (1, 1), (0, 0, 0, 0))
    layer = _Layer(node, source, geometry, kernel[:, None, None, :], (Fraction(1),))
    codes = np.array(bias, np.int64)
    found = accumulator_range(layer.codes, codes, source.range)
    out = source.named(name, shape=(h, w, len(kernel)), range=found)
    _emit_nodes(interpreter, layer, codes, out)
    return out
