"""The ends of the network, which the processor computes: preprocessing before the first quantiser,
and what follows the last one (Softmax, ArgMax, a float bias).
"""

from __future__ import annotations

import json

import numpy as np
from onnx import NodeProto, helper

from finn_resnet.importing.quantiser import Quantiser
from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.interpreter import Interpreter, Unsupported, fractions_of
from finn_resnet.lowering.tensors import CodeTensor, FloatChain, HostTensor, Tensor
from finn_resnet.numerics.ranges import Range


def is_host(tensor: Tensor | None) -> bool:
    """Whether the processor computes the tensor."""
    return isinstance(tensor, HostTensor)


def host_finding(tensor: HostTensor) -> Unsupported:
    """Hardware behind the host's part of the network."""
    return Unsupported(
        f"it follows {tensor.steps[-1]['op']}, which the processor computes behind the accelerator",
        "leave nothing but host operators behind it",
    )


def extend_host(interpreter: Interpreter, node: NodeProto) -> None:
    """One more step of the host, before the accelerator or behind it."""
    source = as_host(interpreter, node.input[0])
    if source is None:
        source = as_host(interpreter, node.input[1])
    for index, name in enumerate(node.output):
        if name:
            step, dtype = _step(interpreter, node, source, index)
            shape = interpreter.shape(name)
            interpreter.tensors[name] = source.followed(step, shape, dtype)


def as_host(interpreter: Interpreter, name: str) -> HostTensor | None:
    """A tensor as the host has it once the accelerator is done; None for a constant.

    Raises:
        Unsupported: a sum that has not become hardware.
    """
    found = interpreter.tensors.get(name)
    if isinstance(found, HostTensor):
        return found
    if found is None or interpreter.constant(name) is not None:
        return None
    if isinstance(found, FloatChain) and found.nodes:
        source = found.source
        if found.sum is not None:
            from finn_resnet.lowering.sums import emit_total

            source = emit_total(interpreter, found.sum, f"{name}_sum")
        steps = tuple(_chain_step(node, found) for node in found.nodes)
        return HostTensor(source, interpreter.shape(name), steps)
    return HostTensor(interpreter.codes(name), interpreter.shape(name))


def _chain_step(node: NodeProto, chain: FloatChain) -> dict:
    """A node of a chain whose constants have one entry or one for each channel."""
    axis = chain.source.channel_axis
    values = {}
    for name, value in chain.constants.items():
        array = np.asarray(value, np.float64)
        values[name] = array.reshape(-1, 1, 1) if axis == -3 and array.size > 1 else array
    return _arithmetic(node, [values.get(name) for name in node.input])


def _arithmetic(node: NodeProto, constants: list[np.ndarray | None]) -> dict:
    """Step of an element-wise node; ``constants`` has None for the moving input.

    Raises:
        Unsupported: the host has no such function.
    """
    op, attrs = node.op_type, attributes(node)
    if op in ("Relu", "Sigmoid", "Tanh"):
        return {"op": op}
    if op == "LeakyRelu":
        return {"op": op, "alpha": float(attrs.get("alpha", 0.01))}
    if op == "Clip":
        low, high = [*constants[1:], None, None][:2]
        low, high = (attrs.get(n, v) for n, v in (("min", low), ("max", high)))
        return {"op": op, "low": _listed(low), "high": _listed(high)}
    if op in ("Add", "Sub", "Mul", "Div"):
        first = constants[0] is not None
        if first and op == "Div":
            raise Unsupported("it divides a constant by the tensor", "multiply instead")
        value = constants[0] if first else constants[1]
        return {"op": "SubFrom" if first and op == "Sub" else op, "value": _listed(value)}
    raise Unsupported(
        f"the processor has no {op} behind the accelerator", "put a Quant node behind it"
    )


def _listed(values: object) -> object:
    return None if values is None else np.asarray(values, np.float64).tolist()


def _step(
    interpreter: Interpreter, node: NodeProto, source: HostTensor, output: int
) -> tuple[dict | None, str]:
    """Step of a node and the type of its result ("" = unchanged)."""
    op, attrs = node.op_type, attributes(node)
    rank = len(source.shape)
    if op == "Identity":
        return None, ""
    if op in ("Softmax", "LogSoftmax"):
        return {"op": op, "axis": int(attrs.get("axis", -1)) % rank}, ""
    if op in ("ArgMax", "ArgMin"):
        axis, keep = int(attrs.get("axis", 0)) % rank, bool(attrs.get("keepdims", 1))
        last = bool(attrs.get("select_last_index", 0))
        return {"op": op, "axis": axis, "keepdims": keep, "last": last}, "int64"
    if op == "TopK":
        k = int(np.ravel(interpreter.constant(node.input[1]).values)[0])
        axis, largest = int(attrs.get("axis", -1)) % rank, bool(attrs.get("largest", 1))
        step = {"op": op, "k": k, "axis": axis, "largest": largest, "indices": bool(output)}
        return step, "int64" if output else ""
    if op == "Transpose":
        perm = [int(p) for p in attrs.get("perm", range(rank)[::-1])]
        if perm[0] != 0:
            raise Unsupported(f"perm = {perm} moves the batch", "keep the batch on axis 0")
        return {"op": op, "perm": perm}, ""
    if op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
        return {
            "op": "Reshape",
            "shape": list(picture_shape(interpreter.shape(node.output[0]))),
        }, ""
    if op == "Cast":
        dtype = helper.tensor_dtype_to_np_dtype(int(attrs["to"])).name
        return {"op": op, "dtype": dtype}, dtype
    if op in ("QuantizeLinear", "DequantizeLinear"):
        return _linear_step(interpreter, node, rank)
    constants = [interpreter.constant(name) if name else None for name in node.input]
    return _arithmetic(node, [None if c is None else c.values for c in constants]), ""


def _linear_step(interpreter: Interpreter, node: NodeProto, rank: int) -> tuple[dict, str]:
    found = [interpreter.constant(name) for name in node.input[1:] if name]
    if any(c is None for c in found):
        raise Unsupported("its scale is computed at run time", "export constant parameters")
    scale, zero = [*(c.values for c in found), np.zeros((), np.uint8)][:2]
    if scale.size > 1:
        axis = int(attributes(node).get("axis", 1)) % rank
        shape = [-1] + [1] * (rank - 1 - axis)
        scale, zero = scale.reshape(shape), np.broadcast_to(zero, scale.shape).reshape(shape)
    step = {"op": node.op_type, "scale": _listed(scale), "zero": zero.tolist()}
    if node.op_type == "DequantizeLinear":
        return step, "float32"
    info = np.iinfo(zero.dtype)
    return {**step, "lo": int(info.min), "hi": int(info.max), "dtype": zero.dtype.name}, (
        zero.dtype.name
    )


def quantise_input(
    interpreter: Interpreter, node: NodeProto, source: HostTensor, quantiser: Quantiser
) -> CodeTensor:
    """The graph input's quantiser, with the preprocessing before it, and the input DMA."""
    if quantiser.scale.size > 1 or quantiser.zero.size > 1:
        raise Unsupported("the input scale differs between channels", "use one scale")
    if quantiser.bits > 8:
        raise Unsupported(f"input bit width = {quantiser.bits}", "use at most 8 bits")
    bounds = quantiser.range
    signed = bounds.lo < 0
    width = bounds.hi.bit_length() + signed
    attrs = {
        "scale": float(quantiser.scale),
        "zero_point": int(quantiser.zero),
        "bits": width,
        "signed": int(signed),
        "narrow": int(bounds.lo == -bounds.hi if signed else bounds.hi != (1 << width) - 1),
        "bipolar": int(quantiser.bipolar),
        "rounds_first": int(quantiser.rounds_first),
        "rounding_mode": quantiser.rounding,
    }
    scale, zero = fractions_of(quantiser.scale), (int(quantiser.zero),)
    return emit_input(interpreter, node.output[0], source, bounds, scale, zero, attrs)


def emit_input(
    interpreter: Interpreter,
    name: str,
    source: HostTensor,
    bounds: Range,
    scale: tuple,
    zero: tuple[int, ...],
    attrs: dict,
) -> CodeTensor:
    """Host node and input DMA of the picture.

    Raises:
        Unsupported: no picture, or a second reader of the graph input.
    """
    for other in interpreter.builder.nodes:
        if other.op_type == "QuantizeInput":
            raise Unsupported(
                "a second Quant reads the graph input", "quantise the input once and fork after it"
            )
    steps, dims = list(source.steps), source.shape[1:]
    last = _is_nhwc(interpreter, name)
    if last:
        steps.append({"op": "Transpose", "perm": _TO_NCHW})
        h, w, c = dims
    elif len(dims) == 3:
        c, h, w = dims
    elif len(dims) == 1:
        h, w, c = 1, 1, dims[0]
        steps.append({"op": "Reshape", "shape": [c, 1, 1]})
    else:
        raise Unsupported(
            f"the graph input has shape {list(source.shape)}", "use a picture [N, C, H, W]"
        )
    origin = source.source
    assert isinstance(origin, str)
    given = interpreter.tensors[origin]
    assert isinstance(given, HostTensor)  # the graph input
    codes = CodeTensor(name, scale, bounds, (h, w, c), len(dims) == 1, last, zero)
    memory = interpreter.builder.unique_tensor(f"{name}_host")
    interpreter.builder.node(
        "QuantizeInput", "quantize_input", [origin], [memory],
        shape=list(interpreter.shape(origin)), codes_shape=[1, h, w, c],
        channels_last=int({"op": "Transpose", "perm": _TO_NCHW} in steps),
        dtype=given.dtype,
        steps=json.dumps(steps) if steps else "", **attrs,
    )  # fmt: skip
    interpreter.builder.describe(memory, (1, h, w, c), bounds)
    interpreter.builder.node(
        "InputDMA", "input_dma", [memory], [name], h=h, w=w, ch=c,
        code_bytes=1, signed=int(bounds.lo < 0),
    )  # fmt: skip
    interpreter.describe(codes)
    return codes


_TO_NCHW = [0, 3, 1, 2]


def _is_nhwc(interpreter: Interpreter, name: str) -> bool:
    """Whether a quantised graph input is NHWC: nothing but a Transpose to NCHW reads it."""
    readers = [n for n in interpreter.model.graph.node if name in n.input]
    perms = [list(attributes(n).get("perm", ())) for n in readers if n.op_type == "Transpose"]
    return bool(readers) and perms == [_TO_NCHW] * len(readers)


def lower_dequantise(interpreter: Interpreter, node: NodeProto) -> None:
    """DequantizeLinear of an integer graph input: the codes come from outside."""
    source = interpreter.tensors[node.input[0]]
    if not isinstance(source, HostTensor):
        raise Unsupported(
            "it reads integers no QuantizeLinear made", "export QuantizeLinear and it in pairs"
        )
    if not isinstance(source.source, str) or source.dtype not in ("int8", "uint8"):
        extend_host(interpreter, node)
        return
    constants = [interpreter.constant(name) for name in node.input[1:] if name]
    if any(c is None or c.values.size != 1 for c in constants):
        raise Unsupported("the input scale differs between channels", "use one scale")
    zero = int(constants[1].values.item()) if len(constants) > 1 else 0
    info = np.iinfo(source.dtype)
    attrs = {"scale": 1.0, "bits": 8, "signed": int(info.min < 0), "narrow": 0}
    interpreter.tensors[node.output[0]] = emit_input(
        interpreter, node.output[0], source, Range(int(info.min), int(info.max)),
        fractions_of(constants[0].values), (zero,), attrs,
    )  # fmt: skip


def picture_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of one picture's share of a tensor: without the batch, where it still has that axis."""
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
