"""A DSP48E2 cascade with packed operands, port by port, as the data sheet has it."""

from __future__ import annotations

from collections.abc import Sequence

from finn_resnet.numerics.dsp_packing import Packing

PORT_AD, PORT_B, PORT_P = 27, 18, 48


def wrap(value: int, bits: int) -> int:
    """The low ``bits`` bits as a signed number."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def side_by_side(operands: Sequence[int], step: int, port: int) -> int:
    """Operands ``step`` bits apart; refused where they do not fit the port."""
    packed = sum(value << (step * index) for index, value in enumerate(operands))
    assert wrap(packed, port) == packed, f"{operands} leave the {port}-bit port"
    return packed


def cascade(
    weights: Sequence[Sequence[int]], codes: Sequence[Sequence[int]], packing: Packing
) -> list[list[int]]:
    """Dot products ``[channels][columns]`` that one cascade gives back for a tile.

    Args:
        weights: ``[channels][taps]``.
        codes: ``[columns][taps]``.
        packing: how the products share a DSP.
    """
    bits, columns = packing.field_bits, len(codes)
    channels_first = packing.tile_channels(columns) > 1
    p = 0
    for w, x in zip(zip(*weights, strict=True), zip(*codes, strict=True), strict=True):
        if channels_first:
            product = side_by_side(w, bits * columns, PORT_AD) * side_by_side(x, bits, PORT_B)
        else:
            product = side_by_side(x, bits, PORT_AD) * side_by_side(w, bits, PORT_B)
        p = wrap(p + product, PORT_P)
    fields = len(weights) * columns
    found = [_field(p, index * bits, bits, index == fields - 1) for index in range(fields)]
    return [found[start : start + columns] for start in range(0, fields, columns)]


def _field(p: int, start: int, bits: int, top: bool) -> int:
    borrow = (p >> (start - 1)) & 1 if start else 0
    return wrap(p >> start, PORT_P - start if top else bits) + borrow
