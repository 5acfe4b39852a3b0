"""Exact rounding of integers scaled by a power of two, in every rounding mode QONNX names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# A rule says whether floor(x / 2^s) must be raised by one; arguments: x, floor, remainder, half.
_Rule = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def _half_even(x: np.ndarray, floor: np.ndarray, rest: np.ndarray, half: int) -> np.ndarray:
    return (rest > half) | ((rest == half) & (floor & 1 == 1))


_RAISE: dict[str, _Rule] = {
    "ROUND": _half_even,
    "HALF_EVEN": _half_even,
    "CEIL": lambda x, floor, rest, half: rest > 0,
    "FLOOR": lambda x, floor, rest, half: np.zeros_like(rest, dtype=bool),
    # UP is away from zero, DOWN towards it (qonnx resolve_rounding_mode).
    "UP": lambda x, floor, rest, half: (rest > 0) & (x > 0),
    "DOWN": lambda x, floor, rest, half: (rest > 0) & (x < 0),
    "HALF_UP": lambda x, floor, rest, half: (rest > half) | ((rest == half) & (x > 0)),
    "HALF_DOWN": lambda x, floor, rest, half: (rest > half) | ((rest == half) & (x < 0)),
}

ROUNDING_MODES = tuple(_RAISE)


def round_shift(x: np.ndarray, shift: int, rounding: str) -> np.ndarray:
    """Round ``x * 2**-shift`` to integers without leaving the integers.

    Args:
        x: int64 codes, any shape.
        shift: binary digits to drop; negative shifts multiply.
        rounding: one of `ROUNDING_MODES`.

    Returns:
        int64 array of the same shape.
    """
    x = np.asarray(x, dtype=np.int64)
    if shift <= 0:
        return x << -shift
    floor = x >> shift
    rest = x - (floor << shift)
    return floor + _RAISE[rounding](x, floor, rest, 1 << (shift - 1))


def round_ratio(numerator: int, denominator: int, rounding: str) -> int:
    """Round the exact quotient to an integer; ``denominator`` is positive."""
    floor, rest = divmod(numerator, denominator)
    # Doubled, so that the half is an integer.
    raised = _RAISE[rounding](numerator, floor, 2 * rest, denominator)
    return floor + int(raised)


def round_float(values: np.ndarray, rounding: str) -> np.ndarray:
    """Round float64 values to int64 as `round_shift` rounds; exact for what float64 holds."""
    floor = np.floor(values)
    rest = values - floor
    raised = _RAISE[rounding](values, floor.astype(np.int64), 2 * rest, 1)
    return floor.astype(np.int64) + raised
