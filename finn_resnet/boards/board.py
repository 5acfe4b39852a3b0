"""Boards: JSON files with part, clock and resource budget. Adding a board needs no code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from finn_resnet.boards.resources import RESOURCE_NAMES, Resources
from finn_resnet.errors import UserError, did_you_mean

_NO_LIMIT = 1e6
_BOARD_FOLDER = Path(__file__).parent
REQUIRED_KEYS = {
    "name": "Name of the board.",
    "part": "AMD's device name with package and speed grade.",
    "board_part": "`vendor:board:part` of the vendor's board file, without a version: the newest "
    "installed one is taken.",
    "clock_mhz": "Usual clock of the accelerator in MHz; a build may choose another.",
    "budget": "All the device has: whole numbers `dsp`, `lut`, `ff`, `bram36` (36 Kbit block "
    "RAMs) and `uram`. A build takes shares of it (configuration key `caps`).",
}
OPTIONAL_KEYS = {
    "aliases": "Other names `--board` takes.",
    "max_clock_mhz": "The data sheet's limit in MHz; a faster clock is refused.",
    "processing_system": "The processing system and its AXI ports, for the block design "
    "(bitstream). Left out: the build makes the IP alone (`make ip`).",
    "sources": "Where the figures come from, as a list of texts; not read.",
}
# Parts of the 7 series, whose DSP48E1 multiplies 25x18 bits.
_SEVEN_SERIES = ("xc7", "xa7", "xq7")


@dataclass(frozen=True)
class Board:
    """An FPGA board.

    ``part`` is AMD's device name, ``board_part`` the vendor:board:part triple without a version
    (the newest installed one is searched), ``clock_mhz`` the accelerator clock in MHz, ``budget``
    all the device has; utilisation caps are applied by the parallelism search.
    ``processing_system`` describes the PS and its AXI ports for the block design; a clock above
    ``max_clock_mhz``, the data sheet's limit of the device, is refused.
    """

    name: str
    part: str
    board_part: str
    clock_mhz: float
    budget: Resources
    aliases: tuple[str, ...] = ()
    processing_system: Mapping[str, Any] = field(default_factory=dict)
    max_clock_mhz: float = _NO_LIMIT


def known_boards() -> list[str]:
    """Names of the boards that come with the package, sorted."""
    return sorted(board.name for board in _shipped_boards().values())


def load_board(name_or_path: str | Path) -> Board:
    """Return the board with this name or alias (case does not matter), or read a JSON file.

    Raises UserError for an unknown name (with the nearest one) and for a file that is not a
    board description.
    """
    return _read_board(board_file(name_or_path))


def board_file(name_or_path: str | Path) -> Path:
    """The JSON file of a board given as for `load_board`."""
    text = str(name_or_path)
    if text.lower().endswith(".json"):
        return Path(text)
    by_name = {
        name: path
        for path, board in _shipped_boards().items()
        for name in (board.name, *board.aliases)
    }
    for name, path in by_name.items():
        if name.casefold() == text.casefold():
            return path
    raise UserError(
        f"board {text!r} is unknown: {did_you_mean(text, by_name)}; "
        "another board is given as the path of its .json file"
    )


def _shipped_boards() -> dict[Path, Board]:
    return {path: _read_board(path) for path in sorted(_BOARD_FOLDER.glob("*.json"))}


def _read_board(path: Path) -> Board:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"board file '{path}' cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"board file '{path}' must hold a JSON object with {list(REQUIRED_KEYS)}")
    missing = [key for key in REQUIRED_KEYS if key not in data]
    unknown = [key for key in data if key not in {**REQUIRED_KEYS, **OPTIONAL_KEYS}]
    if missing or unknown:
        raise UserError(
            f"board file '{path}': missing keys {missing}, unknown keys {unknown}; "
            f"required are {list(REQUIRED_KEYS)}, optional {list(OPTIONAL_KEYS)}"
        )
    for key in ("name", "part", "board_part"):
        if not isinstance(data[key], str) or not data[key]:
            raise UserError(f"board file '{path}': '{key}' = {data[key]!r} must be a name")
    aliases = data.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise UserError(f"board file '{path}': 'aliases' = {aliases!r} must be a list of names")
    if not isinstance(data.get("processing_system", {}), dict):
        raise UserError(f"board file '{path}': 'processing_system' must be a JSON object")
    if data["part"].lower().startswith(_SEVEN_SERIES):
        raise UserError(
            f"board file '{path}': 'part' = {data['part']!r} is of the 7 series, whose DSP48E1 "
            "multiplies 25x18 bits; products are packed for the 27x18 bits of UltraScale+, use a "
            "part of that family"
        )
    return Board(
        name=data["name"],
        part=data["part"],
        board_part=data["board_part"],
        clock_mhz=_positive(path, "clock_mhz", data["clock_mhz"]),
        budget=_read_budget(path, data["budget"]),
        aliases=tuple(aliases),
        processing_system=data.get("processing_system", {}),
        max_clock_mhz=_positive(path, "max_clock_mhz", data.get("max_clock_mhz", _NO_LIMIT)),
    )


def _positive(path: Path, key: str, value: Any) -> float:
    valid = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not valid or not math.isfinite(value) or value <= 0:
        raise UserError(f"board file '{path}': '{key}' = {value!r} must be a positive number")
    return float(value)


def _read_budget(path: Path, budget: Any) -> Resources:
    if not isinstance(budget, dict) or set(budget) != set(RESOURCE_NAMES):
        raise UserError(
            f"board file '{path}': 'budget' must give exactly {', '.join(RESOURCE_NAMES)}"
        )
    for key, value in budget.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UserError(
                f"board file '{path}': budget '{key}' = {value!r} must be a whole number from 0 up"
            )
    return Resources(**budget)
