"""Boards are found by any of their names, and a bad description is refused in one line."""

import json

import pytest

from finn_resnet.boards import Resources, known_boards, load_board
from finn_resnet.errors import UserError


@pytest.mark.parametrize("name", ["Ultra96", "ultra96-v2", "ULTRA96-V2"])
def test_ultra96_by_any_name(name):
    board = load_board(name)
    assert board.part == "xczu3eg-sbva484-1-i"
    assert board.budget == Resources(dsp=360, lut=70560, ff=141120, bram36=216, uram=0)
    assert board.clock_mhz == 214.3


@pytest.mark.parametrize("name", ["KV260", "kv260_som"])
def test_kv260_by_any_name(name):
    board = load_board(name)
    assert board.part == "xck26-sfvc784-2LV-c"
    assert board.budget == Resources(dsp=1248, lut=117120, ff=234240, bram36=144, uram=64)
    assert board.clock_mhz == 250.0


def test_known_boards_load():
    assert {load_board(name).name for name in known_boards()} == set(known_boards())
    assert {"KV260", "Ultra96"} <= set(known_boards())


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(UserError, match="did you mean 'KV260'"):
        load_board("KV206")
    with pytest.raises(UserError, match=r"KV260, .*Ultra96.*\.json") as error:
        load_board("zzzzzzz")
    assert "did you mean" not in str(error.value)


def _description(**changes):
    data = {
        "name": "Mine",
        "part": "xcku5p-ffvb676-2-e",
        "board_part": "me.org:mine:part0",
        "clock_mhz": 300,
        "budget": {"dsp": 1824, "lut": 216960, "ff": 433920, "bram36": 480, "uram": 64},
    }
    data.update(changes)
    return data


def test_a_board_of_ones_own(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(_description()))
    board = load_board(path)
    assert (board.name, board.clock_mhz, board.budget.dsp) == ("Mine", 300.0, 1824)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clock_mhz": 0}, "'clock_mhz' = 0"),
        ({"clock_mhz": "fast"}, "'clock_mhz' = 'fast'"),
        ({"clock_mhz": float("nan")}, "'clock_mhz' = nan"),
        ({"budget": {"dsp": 1}}, "budget"),
        ({"budget": {"dsp": -1, "lut": 1, "ff": 1, "bram36": 1, "uram": 1}}, "'dsp' = -1"),
        ({"name": ""}, "'name' = ''"),
        ({"aliases": "Mine"}, "'aliases'"),
        ({"speed": 3}, r"unknown keys \['speed'\]"),
    ],
)
def test_bad_descriptions_are_refused(tmp_path, changes, message):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(_description(**changes)))
    with pytest.raises(UserError, match=message) as error:
        load_board(path)
    assert "\n" not in str(error.value)


def test_files_that_are_no_json_are_refused(tmp_path):
    path = tmp_path / "broken.json"
    path.write_bytes(b"\xff{")
    with pytest.raises(UserError, match="cannot be read"):
        load_board(path)
    with pytest.raises(UserError, match="cannot be read"):
        load_board(tmp_path / "absent.json")
    path.write_text("[1]")
    with pytest.raises(UserError, match="JSON object"):
        load_board(path)


def test_resources_add_scale_and_compare():
    cost = Resources(dsp=2, lut=10) + 3 * Resources(bram36=0.5)
    assert cost == Resources(dsp=2, lut=10, bram36=1.5)
    assert cost.fits(Resources(2, 10, 0, 1.5, 0))
    assert not cost.fits(Resources(2, 10, 0, 1, 0))
