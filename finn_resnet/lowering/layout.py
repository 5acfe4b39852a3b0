"""Nodes that only move values: Flatten, Reshape, Squeeze, Unsqueeze, Transpose.

Hardware tensors are always (H, W, C), so that such a node is bookkeeping: how the original orders
the same values. A dense layer behind it reads its weights in that order.
"""

from __future__ import annotations

from dataclasses import replace

from onnx import NodeProto

from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.host_ends import extend_host, is_host
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, FloatChain


def lower_reshape(interpreter: Interpreter, node: NodeProto) -> None:
    """Flatten, Reshape, Squeeze and Unsqueeze."""
    if is_host(interpreter.tensors[node.input[0]]):
        extend_host(interpreter, node)
        return
    source = _inner(interpreter, node)
    old, new = interpreter.shape(node.input[0]), interpreter.shape(node.output[0])
    h, w, c = source.shape
    kept = [d for d in new if d != 1]
    if new == old:
        found = source
    elif h * w == 1 and kept in ([c], []):
        found = _one_pixel(source, new)
    elif kept == [d for d in (h * w * c,) if d != 1]:
        found = source.named(source.name, flattened=True)
    elif source.flattened and list(new) == [1, *_picture(source)]:
        found = source.named(source.name, flattened=False)
    else:
        found = None
    if found is None:
        raise Unsupported(
            f"it changes {list(old)} to {list(new)}", "reshape only to [N, features], or move axes "
            "of length 1",
        )  # fmt: skip
    _relabel(interpreter, node, found)


def lower_transpose(interpreter: Interpreter, node: NodeProto) -> None:
    """Transpose between NCHW and NHWC; of a parameter, of the host's tensors."""
    constant = interpreter.constant(node.input[0])
    if constant is not None:
        raise Unsupported("it transposes a quantised parameter", "transpose it before its Quant")
    if is_host(interpreter.tensors[node.input[0]]):
        extend_host(interpreter, node)
        return
    source = _inner(interpreter, node)
    shape = interpreter.shape(node.input[0])
    perm = [int(p) for p in attributes(node).get("perm", range(len(shape))[::-1])]
    found = None
    if perm == list(range(len(perm))):
        found = source
    elif source.shape[:2] == (1, 1):
        found = _one_pixel(source, interpreter.shape(node.output[0]))
    elif not source.flattened and perm == [0, 2, 3, 1] and not source.channels_last:
        found = source.named(source.name, channels_last=True)
    elif not source.flattened and perm == [0, 3, 1, 2] and source.channels_last:
        found = source.named(source.name, channels_last=False)
    if found is None:
        raise Unsupported(f"perm = {perm}", "transpose only between NCHW and NHWC")
    _relabel(interpreter, node, found)


def _inner(interpreter: Interpreter, node: NodeProto) -> CodeTensor:
    source = interpreter.tensors[node.input[0]]
    return source.source if isinstance(source, FloatChain) else interpreter.codes(node.input[0])


def _picture(source: CodeTensor) -> list[int]:
    h, w, c = source.shape
    return [h, w, c] if source.channels_last else [c, h, w]


def _one_pixel(source: CodeTensor, shape: tuple[int, ...]) -> CodeTensor | None:
    """Layout of a tensor with one pixel and the original's new ``shape``; None where there is none.

    The channels have to lie where `CodeTensor.channel_axis` looks for them.
    """
    channels = source.shape[2]
    if len(shape) == 4 and shape[1] == channels:
        return source.named(source.name, flattened=False, channels_last=False)
    if len(shape) == 4 and shape[3] == channels:
        return source.named(source.name, flattened=False, channels_last=True)
    if shape and shape[-1] == channels:
        return source.named(source.name, flattened=True)
    return None


def _relabel(interpreter: Interpreter, node: NodeProto, found: CodeTensor) -> None:
    source = interpreter.tensors[node.input[0]]
    interpreter.tensors[node.output[0]] = (
        replace(source, source=found) if isinstance(source, FloatChain) else found
    )
