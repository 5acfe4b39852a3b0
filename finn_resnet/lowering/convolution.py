"""Convolutions and classifiers: window buffer, parameter task and computation task."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from onnx import NodeProto, helper

from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.custom_ops.window import output_size
from finn_resnet.lowering.arithmetic import add_on_grid
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.interpreter import Interpreter, Unsupported, fractions_of, times
from finn_resnet.lowering.tensors import CodeTensor, Constant, FloatChain
from finn_resnet.numerics.ranges import Range


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

    Raises:
        Unsupported: dilation, ceil mode, an automatic padding name onnx does not define.
    """
    attrs = attributes(node)
    fh, fw = attrs.get("kernel_shape", kernel)
    stride = tuple(attrs.get("strides", (1, 1)))
    if any(d != 1 for d in attrs.get("dilations", ())):
        raise Unsupported(f"dilations = {attrs['dilations']}", "use undilated kernels")
    if attrs.get("ceil_mode", 0):
        raise Unsupported("ceil_mode = 1", "use floor mode with explicit pads")
    pads = tuple(attrs.get("pads", (0, 0, 0, 0)))
    auto = attrs.get("auto_pad", b"NOTSET").decode()
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = _same_pads(shape, (fh, fw), stride, auto == "SAME_UPPER")
    elif auto not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad = {auto}", "use explicit pads")
    geometry = Geometry(shape[0], shape[1], fh, fw, stride, pads)
    if geometry.oh < 1 or geometry.ow < 1:
        raise Unsupported(
            f"a {fh}x{fw} kernel does not fit a {shape[0]}x{shape[1]} picture", "check the sizes"
        )
    return geometry


def _same_pads(
    shape: tuple[int, int, int], kernel: tuple[int, int], stride: tuple[int, int], upper: bool
) -> tuple[int, int, int, int]:
    begin, end = [], []
    for size, f, s in zip(shape[:2], kernel, stride, strict=True):
        total = max((-(-size // s) - 1) * s + f - size, 0)
        small, large = total // 2, total - total // 2
        begin.append(small if upper else large)
        end.append(large if upper else small)
    return (*begin, *end)


def lower_conv(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Conv."""
    source = interpreter.codes(node.input[0])
    weights = _weights(interpreter, node)
    if source.flattened or weights.codes.ndim != 4:
        raise Unsupported("it is not two-dimensional", "use 2-D convolutions on pictures")
    group = attributes(node).get("group", 1)
    if group != 1:
        raise Unsupported(f"group = {group}", "use ungrouped convolutions")
    geometry = read_geometry(node, source.shape, weights.codes.shape[2:])
    codes = weights.codes.transpose(0, 2, 3, 1)
    scale = _scale_per_output(weights, axis=0)
    layer = _Layer(node, source, geometry, codes, scale, weights.bits)
    _emit(interpreter, layer, _bias(interpreter, node), flattened=False)


def lower_dense(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Gemm and MatMul: a convolution whose kernel covers the whole picture."""
    source = interpreter.codes(node.input[0])
    attrs = attributes(node)
    for name, legal in (("alpha", 1.0), ("beta", 1.0), ("transA", 0)):
        if attrs.get(name, legal) != legal:
            raise Unsupported(f"{name} = {attrs[name]}", f"export with {name} = {legal:g}")
    weights = _weights(interpreter, node)
    if weights.codes.ndim != 2 or not (source.flattened or source.shape[:2] == (1, 1)):
        raise Unsupported("it is not a product with a weight matrix", "flatten before it")
    h, w, c = source.shape
    transposed = bool(attrs.get("transB", 0))
    matrix = weights.codes if transposed else weights.codes.T
    if matrix.shape[1] != h * w * c:
        raise Unsupported(
            f"{matrix.shape[1]} weights per output for {h * w * c} inputs", "check the sizes"
        )
    # A flattened picture is channel-major.
    codes = matrix.reshape(-1, c, h, w).transpose(0, 2, 3, 1)
    scale = _scale_per_output(weights, axis=0 if transposed else 1)
    geometry = Geometry(h, w, h, w, (1, 1), (0, 0, 0, 0))
    layer = _Layer(node, source, geometry, codes, scale, weights.bits)
    _emit(interpreter, layer, _bias(interpreter, node), flattened=True)


@dataclass(frozen=True)
class _Layer:
    """What `_emit` needs of a convolution; ``codes`` is [och, fh, fw, ich]."""

    node: NodeProto
    source: CodeTensor
    geometry: Geometry
    codes: np.ndarray
    scale: tuple[Fraction, ...]
    bits: int


def _weights(interpreter: Interpreter, node: NodeProto) -> Constant:
    found = interpreter.constant(node.input[1])
    if found is None:
        raise Unsupported("its weights are computed at run time", "use constant weights")
    if found.codes is None:
        raise Unsupported("its weights have no Quant node", "quantise the weights")
    if found.bits > 8:
        raise Unsupported(f"weight bit width = {found.bits}", "use at most 8 bits")
    return found


def _scale_per_output(weights: Constant, axis: int) -> tuple[Fraction, ...]:
    """Weight scale per output channel; refuses a scale that varies along another axis."""
    scale = weights.scale
    if scale.size > 1 and scale.size != scale.shape[axis]:
        raise Unsupported(
            f"weight scale has shape {list(scale.shape)}", "use one scale per output channel"
        )
    return fractions_of(scale)


def _bias(interpreter: Interpreter, node: NodeProto) -> np.ndarray | None:
    if len(node.input) < 3 or not node.input[2]:
        return None
    found = interpreter.constant(node.input[2])
    if found is None:
        raise Unsupported("its bias is computed at run time", "use a constant bias")
    return np.ravel(np.asarray(found.values, np.float64))


def _emit(
    interpreter: Interpreter, layer: _Layer, bias: np.ndarray | None, flattened: bool
) -> None:
    """Window buffer, parameter task, computation task, and a bias that is off the grid."""
    node, source = layer.node, layer.source
    och = len(layer.codes)
    scale = times(source.scale, layer.scale)
    if len(source.scale) > 1:
        raise Unsupported("its input has one scale per channel", "put a Quant node before it")
    on_grid = _bias_codes(bias, scale, och)
    acc_bias = np.zeros(och, np.int64) if on_grid is None else on_grid
    name = node.output[0] if on_grid is not None else f"{node.output[0]}_product"
    out = CodeTensor(
        name,
        scale,
        accumulator_range(layer.codes, acc_bias, source.range.including(0)),
        (layer.geometry.oh, layer.geometry.ow, och),
        flattened,
    )
    _emit_nodes(interpreter, layer, acc_bias, out)
    interpreter.check_sum(out)
    interpreter.tensors[name] = out
    result: CodeTensor | FloatChain = out
    if on_grid is None:
        result = _add_bias(interpreter, node, out, bias)
    interpreter.tensors[node.output[0]] = result


def _bias_codes(
    bias: np.ndarray | None, scale: tuple[Fraction, ...], och: int
) -> np.ndarray | None:
    """Bias in units of the accumulator, None where it is not a whole number of them."""
    if bias is None:
        return np.zeros(och, np.int64)
    codes = [Fraction(float(b)) / scale[i % len(scale)] for i, b in enumerate(bias)]
    if len(codes) == 1:
        codes = codes * och
    whole = all(c.denominator == 1 and abs(c) < 2**40 for c in codes)
    return np.array([int(c) for c in codes], np.int64) if whole else None


def _add_bias(
    interpreter: Interpreter, node: NodeProto, out: CodeTensor, bias: np.ndarray
) -> CodeTensor | FloatChain:
    if out.exponent is not None:
        added = np.repeat(bias, out.shape[2]) if bias.size == 1 else bias
        exact = add_on_grid(interpreter, out, added, node.output[0])
        if exact is not None:
            return exact
    # float32 rounds inside the convolution's own sum: only the contract is a reference.
    interpreter.needs_exact_float32(False)
    constant = f"{node.output[0]}_bias"
    shape = (1, -1) if out.flattened else (1, -1, 1, 1)
    addition = helper.make_node("Add", [out.name, constant], [node.output[0]])
    return FloatChain(out, (addition,), {constant: bias.reshape(shape)})


def _emit_nodes(interpreter: Interpreter, layer: _Layer, bias: np.ndarray, out: CodeTensor) -> None:
    build, geometry = interpreter.builder, layer.geometry
    name = layer.node.name
    och, fh, fw, ich = layer.codes.shape
    window, stream = f"{out.name}_window", f"{out.name}_weights"
    build.node(
        "WindowBuffer", f"{name}_window", [layer.source.name], [window],
        ich=ich, **geometry.as_attributes(),
    )  # fmt: skip
    codes = layer.source.range
    padded = codes.including(0) if any(geometry.pads) else codes
    build.describe(window, (1, geometry.oh, geometry.ow, fh * fw * ich), padded)
    weights = build.initialiser(f"{out.name}_weight_codes", layer.codes)
    build.node(
        "ParameterStream", f"{name}_weights", [weights], [stream],
        och=och, ich=ich, fh=fh, fw=fw, repeats=geometry.oh * geometry.ow, bits=layer.bits,
    )  # fmt: skip
    build.describe(stream, layer.codes.shape, _code_range(layer.codes))
    build.node(
        "StreamConv", name, [window, stream, build.initialiser(f"{out.name}_bias_codes", bias)],
        [out.name], ich=ich, och=och, in_lo=padded.lo, in_hi=padded.hi, weight_bits=layer.bits,
        **geometry.as_attributes(),
    )  # fmt: skip
    interpreter.describe(out)


def _code_range(codes: np.ndarray) -> Range:
    return Range(int(codes.min(initial=0)), int(codes.max(initial=0)))
