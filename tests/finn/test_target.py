"""Board and clock from FINN's build configuration."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from finn_resnet.errors import UserError
from finn_resnet.finn.target import clock_mhz, target_board


def config(**keys: object) -> SimpleNamespace:
    return SimpleNamespace(**{"board": None, "fpga_part": None, "synth_clk_period_ns": 10.0} | keys)


@pytest.mark.parametrize(("name", "board"), [("KV260_SOM", "KV260"), ("Ultra96-V2", "Ultra96")])
def test_finns_board_names_are_known(name, board):
    assert target_board(config(board=name)).name == board


def test_a_part_stands_for_its_board():
    assert target_board(config(fpga_part="xczu3eg-sbva484-1-i")).name == "Ultra96"


def test_a_part_of_no_known_board_is_refused():
    with pytest.raises(UserError, match=r"'xc7z020clg400-1'.*xck26-sfvc784-2LV-c"):
        target_board(config(fpga_part="xc7z020clg400-1"))


def test_the_clock_is_exact_to_a_hertz():
    assert clock_mhz(config(synth_clk_period_ns=4.0)) == 250
    assert clock_mhz(config(synth_clk_period_ns=1000 / 214.3)) == 214.3
