"""brevitas quantisers with a constant power-of-two scale and zero-point 0.

Scales are chosen once, by calibration, and then stay: an integer code means the same value all
through training, and every scale of the exported graph is an exact power of two.
"""

from __future__ import annotations

from brevitas.inject.enum import ScalingImplType
from brevitas.quant import Int16Bias
from brevitas.quant.fixed_point import (
    Int8ActPerTensorFixedPoint,
    Int8WeightPerTensorFixedPoint,
    Uint8ActPerTensorFixedPoint,
)

BiasQuantiser = Int16Bias  # scale s_x * s_w, clipped to 16 bits


def activation_quantiser(exponent: int, bits: int, signed: bool) -> type:
    """Quantiser class for activations: scale 2^exponent, codes of `bits` bits."""
    base = Int8ActPerTensorFixedPoint if signed else Uint8ActPerTensorFixedPoint
    return _with_constant_scale(base, exponent, bits, bits - 1 if signed else bits)


def weight_quantiser(exponent: int, bits: int) -> type:
    """Quantiser class for weights: scale 2^exponent, codes in [-(2^(bits-1)-1), 2^(bits-1)-1]."""
    return _with_constant_scale(Int8WeightPerTensorFixedPoint, exponent, bits, bits - 1)


def _with_constant_scale(base: type, exponent: int, bits: int, magnitude_bits: int) -> type:
    # brevitas takes the threshold (the scale times 2^magnitude_bits), not the scale.
    threshold = 2.0 ** (exponent + magnitude_bits)

    class Quantiser(base):
        scaling_impl_type = ScalingImplType.CONST
        scaling_init = threshold
        bit_width = bits

    return Quantiser
