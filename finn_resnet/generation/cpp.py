"""C++ text of numbers, tables and integer types."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from finn_resnet.numerics.ranges import Range


def signed_bits(values: Range) -> int:
    """Width of the smallest *signed* type that holds the range."""
    return values.including(-1).bits


def code_type(values: Range) -> str:
    """`fr::int_t` or `fr::uint_t` that holds the range."""
    return f"fr::{'int_t' if values.signed else 'uint_t'}<{values.bits}>"


def native_bytes(values: Range) -> int:
    """Size of the native form of `code_type`: 1, 2, 4 or 8 bytes."""
    return next(size for size in (1, 2, 4, 8) if values.bits <= 8 * size)


def constant_type(values: Range) -> str:
    """Smallest standard integer type for a constexpr table."""
    for size in (8, 16, 32, 64):
        if signed_bits(values) <= size:
            return f"std::int{size}_t"
    raise ValueError(f"no standard integer holds {values}")


def array_range(array: np.ndarray) -> Range:
    """Least and greatest element."""
    return Range(int(array.min()), int(array.max()))


def grouped(values: Iterable[int], entries: int) -> np.ndarray:
    """Per-channel values as rows of ``entries``, one row per channel group, filled up with 0."""
    flat = np.fromiter((int(v) for v in values), np.int64)
    rows = -(-len(flat) // entries)
    table = np.zeros(rows * entries, np.int64)
    table[: len(flat)] = flat
    return table.reshape(rows, entries)


def braces(array: np.ndarray) -> str:
    """Nested brace initialiser of an integer array."""
    if array.ndim == 1:
        return "{" + ", ".join(str(int(v)) for v in array) + "}"
    return "{" + ", ".join(braces(row) for row in array) + "}"


def table_type(array: np.ndarray) -> str:
    """`fr::table` type of a ``[groups, entries]`` array."""
    return f"fr::table<{constant_type(array_range(array))}, {array.shape[0]}, {array.shape[1]}>"
