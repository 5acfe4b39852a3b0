"""Memory costs follow the device's shapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.boards import Resources
from finn_resnet.parallelism.memory_cost import bram36_count, fifo_cost, lutram_lut, rom_cost


@pytest.mark.parametrize(
    ("depth", "width", "brams"),
    [
        (512, 72, 1),
        (513, 72, 2),
        (512, 36, 0.5),
        (512, 37, 1),
        (1024, 36, 1),
        (1024, 18, 0.5),
        (64, 1152, 16),
        (2048, 9, 0.5),
        (4096, 9, 1),
        (512, 108, 1.5),
    ],
)
def test_block_ram_by_aspect_ratio(depth, width, brams):
    assert bram36_count(depth, width) == brams


@given(st.integers(2, 5000), st.integers(1, 2000))
def test_block_ram_holds_all_bits_and_ports(depth, width):
    count = bram36_count(depth, width)
    assert count * 36 * 1024 >= depth * width
    assert count * 72 >= width
    assert count <= bram36_count(depth + 1, width)
    assert count <= bram36_count(depth, width + 1)


def test_rom_styles():
    assert rom_cost(64, 100, "lut") == Resources(lut=100)
    assert rom_cost(65, 100, "lut") == Resources(lut=200)
    assert rom_cost(100, 144, "bram") == Resources(bram36=2)
    assert rom_cost(4096, 144, "uram") == Resources(uram=2)
    assert rom_cost(4097, 144, "uram") == Resources(uram=4)
    # One word is wiring; URAM still has to be filled.
    assert rom_cost(1, 144, "bram") == Resources()
    assert rom_cost(1, 144, "uram") == Resources(uram=2)
    with pytest.raises(ValueError, match="flash"):
        rom_cost(64, 8, "flash")


def test_fifo_goes_to_the_memory_its_size_calls_for():
    registers = fifo_cost(2, 1152)
    assert registers.bram36 == 0 and registers.ff >= 2 * 1152
    shift = fifo_cost(16, 64)
    assert shift.bram36 == 0 and shift.lut_low < 64 < shift.lut < 128
    assert fifo_cost(64, 64).bram36 == 1
    in_luts = fifo_cost(64, 64, "lut")
    assert in_luts.bram36 == 0 and in_luts.lut > lutram_lut(64, 64)


@given(st.integers(2, 2000), st.integers(1, 256))
def test_a_deeper_fifo_in_luts_never_costs_less(depth, width):
    small, large = fifo_cost(depth, width, "lut"), fifo_cost(depth + 64, width, "lut")
    assert large.lut >= small.lut or depth * width <= 1024
    assert small.dsp == small.uram == small.bram36 == 0
