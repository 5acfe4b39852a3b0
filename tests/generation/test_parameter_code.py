"""Weight memories of constants: codes packed into 32-bit integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.generation.task_code import WeightMemory


@given(st.integers(1, 16), st.booleans(), st.data())
def test_packed_words_hold_every_code(bits, signed, data):
    lo, hi = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 9)))
    codes = st.sampled_from([lo, hi]) | st.integers(lo, hi)
    words = np.array(
        data.draw(st.lists(codes, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    ).reshape(shape)
    packed = WeightMemory("w", words, code_bits=bits).packed_words
    assert packed.shape == (shape[0], -(-shape[1] * bits // 32))
    for word, row in zip(words, packed, strict=True):
        number = int.from_bytes(row.tobytes(), "little")
        for entry, code in enumerate(word):
            assert number >> (entry * bits) & ((1 << bits) - 1) == code & ((1 << bits) - 1)


def test_eight_bit_weights_are_the_bytes():
    words = np.array([[-128, 127, 0, 1, -1], [1, -1, 5, 7, 9]])
    packed = WeightMemory("w", words).packed_words
    assert np.array_equal(packed.view(np.int8)[:, :5], words) and packed[0, 1] == 255
