"""Resize: nearest neighbour by whole factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import NodeProto

from finn_resnet.lowering.attributes import attributes
from finn_resnet.lowering.interpreter import Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, FloatChain

_WHOLE = "enlarge by whole factors with mode = nearest (the default of PyTorch's Upsample)"


def lower_resize(interpreter: Interpreter, node: NodeProto) -> None:
    """Handler of Resize and Upsample: a task of its own that repeats pixels.

    It moves values only, so that a float chain in front of it may as well come behind it.
    """
    found = interpreter.tensors[node.input[0]]
    chain = found if isinstance(found, FloatChain) and found.sum is None else None
    source = interpreter.codes(node.input[0]) if chain is None else chain.source
    if source.flattened or source.channels_last:
        raise Unsupported("its input is no picture [N, C, H, W]", "apply it before flattening")
    given = attributes(node)
    if given.get("mode", b"nearest") != b"nearest":
        raise Unsupported(f"mode = {given['mode'].decode()}", _WHOLE)
    factors = _factors(interpreter, node)
    name = node.output[0] if chain is None else f"{node.output[0]}_codes"
    resized = _emit(interpreter, node, source, factors, name)
    result = resized if chain is None else replace(chain, source=resized)
    interpreter.tensors[node.output[0]] = result


def _factors(interpreter: Interpreter, node: NodeProto) -> tuple[int, int]:
    """Whole factors of rows and columns.

    Raises:
        Unsupported: a fraction, or pixels that are not simply repeated.
    """
    old, new = interpreter.shape(node.input[0]), interpreter.shape(node.output[0])
    if len(old) != 4 or old[:2] != new[:2] or any(b % a for a, b in zip(old, new, strict=True)):
        raise Unsupported(f"it resizes {list(old)} to {list(new)}", _WHOLE)
    for axis in (2, 3):
        factor = new[axis] // old[axis]
        if np.any(nearest_index(node, old[axis], new[axis]) != np.arange(new[axis]) // factor):
            attrs = attributes(node)
            shown = ", ".join(
                f"{name} = {attrs[name].decode()}"
                for name in ("coordinate_transformation_mode", "nearest_mode")
                if name in attrs
            )
            raise Unsupported(
                f"it does not repeat every pixel {factor} times ({shown or 'its defaults'})", _WHOLE
            )
    return new[2] // old[2], new[3] // old[3]


def nearest_index(node: NodeProto, old: int, new: int) -> np.ndarray:
    """Input position of every output position along an axis, as ONNX defines nearest Resize.

    Raises:
        Unsupported: a way of counting that depends on more than the two sizes.
    """
    attrs = attributes(node)
    places = np.arange(new, dtype=np.float64)
    # Upsample, and Resize of opset 10, know one way only.
    plain = node.op_type == "Upsample" or len(node.input) == 2
    mode = attrs.get("coordinate_transformation_mode", b"asymmetric" if plain else b"half_pixel")
    rounding = attrs.get("nearest_mode", b"floor" if plain else b"round_prefer_floor")
    if mode == b"asymmetric":
        places = places * old / new
    elif mode == b"align_corners":
        places = places * (old - 1) / max(new - 1, 1)
    elif mode in (b"half_pixel", b"pytorch_half_pixel", b"half_pixel_symmetric"):
        places = (places + 0.5) * old / new - 0.5
        if mode == b"pytorch_half_pixel" and new == 1:
            places = np.zeros(1)
    else:
        raise Unsupported(f"coordinate_transformation_mode = {mode.decode()}", _WHOLE)
    rounded = {
        b"floor": np.floor(places),
        b"ceil": np.ceil(places),
        b"round_prefer_floor": np.ceil(places - 0.5),
        b"round_prefer_ceil": np.floor(places + 0.5),
    }[rounding]
    return np.clip(rounded, 0, old - 1).astype(np.int64)


def _emit(
    interpreter: Interpreter,
    node: NodeProto,
    source: CodeTensor,
    factors: tuple[int, int],
    name: str,
) -> CodeTensor:
    h, w, ch = source.shape
    rows, columns = factors
    out = source.named(name, shape=(h * rows, w * columns, ch))
    interpreter.builder.node(
        "StreamResize", node.name, [source.name], [name],
        h=h, w=w, ch=ch, rows=rows, columns=columns,
    )  # fmt: skip
    interpreter.describe(out)
    return out
