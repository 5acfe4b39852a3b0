"""What a block design needs to know of a board's processing system, read from its JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from finn_resnet.boards import Board
from finn_resnet.errors import UserError

STREAM_BITS = 128
"""Width of the accelerator's AXI4-Stream ports (16-byte beats)."""

_MEMORY_WIDTHS = (32, 64, 128, 256, 512, 1024)
_SHAPE = {
    "ip": str,
    "automation_rule": str,
    "properties": dict,
    "clock": {"pin": str, "frequency_property": str},
    "reset_pin": str,
    "control": {"pin": str, "clock_pin": str, "address_space": str, "base_address": str},
    "memory": {
        "pin": str,
        "clock_pin": str,
        "segment": str,
        "offset": str,
        "range": str,
        "data_bits": int,
    },
}


@dataclass(frozen=True)
class ControlPort:
    """The master port the processor writes registers through; ``base_address`` in bytes."""

    pin: str
    clock_pin: str
    address_space: str
    base_address: int


@dataclass(frozen=True)
class MemoryPort:
    """The slave port the DMAs reach memory through: ``data_bits`` wide, ``range`` bytes mapped."""

    pin: str
    clock_pin: str
    segment: str
    offset: int
    range: int
    data_bits: int


@dataclass(frozen=True)
class ProcessingSystem:
    """Vendor IP of the processing system, its properties and the pins the design connects.

    ``frequency_property`` sets the fabric clock of ``clock_pin`` in MHz. ``board_connections`` are
    the SOM's connectors and what is plugged into them.
    """

    ip: str
    automation_rule: str
    properties: Mapping[str, Any]
    clock_pin: str
    frequency_property: str
    reset_pin: str
    control: ControlPort
    memory: MemoryPort
    board_connections: Mapping[str, str]

    @property
    def dma_memory_bits(self) -> int:
        """Memory side of a DMA: at least as wide as its stream."""
        return max(self.memory.data_bits, STREAM_BITS)


def processing_system(board: Board) -> ProcessingSystem:
    """The board's ``processing_system`` object, checked.

    Raises:
        UserError: it is missing, misses a key, has one of another type, or its memory port has a
            width that an AXI DMA with 128-bit streams cannot have.
    """
    data = board.processing_system
    _check(board.name, "processing_system", data, _SHAPE)
    memory = data["memory"]
    if memory["data_bits"] not in _MEMORY_WIDTHS:
        raise UserError(
            f"board {board.name}: processing_system.memory.data_bits = {memory['data_bits']} does "
            f"not divide into {STREAM_BITS}-bit beats; an AXI port has one of "
            f"{', '.join(map(str, _MEMORY_WIDTHS))}"
        )
    address = _address_reader(board.name)
    control = data["control"]
    return ProcessingSystem(
        ip=data["ip"],
        automation_rule=data["automation_rule"],
        properties=data["properties"],
        clock_pin=data["clock"]["pin"],
        frequency_property=data["clock"]["frequency_property"],
        reset_pin=data["reset_pin"],
        control=ControlPort(
            control["pin"],
            control["clock_pin"],
            control["address_space"],
            address("control.base_address", control["base_address"]),
        ),
        memory=MemoryPort(
            memory["pin"],
            memory["clock_pin"],
            memory["segment"],
            address("memory.offset", memory["offset"]),
            address("memory.range", memory["range"]),
            memory["data_bits"],
        ),
        board_connections=data.get("board_connections", {}),
    )


def _check(board: str, path: str, data: Any, shape: Mapping[str, Any]) -> None:
    if not isinstance(data, Mapping):
        raise UserError(f"board {board}: '{path}' must be a JSON object, not {data!r}")
    for key, kind in shape.items():
        if key not in data:
            raise UserError(
                f"board {board}: '{path}.{key}' is missing, so no block design can be written; add "
                "it to the board file (see boards/kv260.json)"
            )
        if isinstance(kind, dict):
            _check(board, f"{path}.{key}", data[key], kind)
        elif not isinstance(data[key], kind) or isinstance(data[key], bool):
            raise UserError(
                f"board {board}: '{path}.{key}' = {data[key]!r} must be a {kind.__name__}"
            )


def _address_reader(board: str) -> Any:
    def read(key: str, text: str) -> int:
        try:
            return int(text, 16)
        except ValueError as fault:
            raise UserError(
                f"board {board}: 'processing_system.{key}' = {text!r} is no address; write it in "
                "hexadecimal, such as '0xA0000000'"
            ) from fault

    return read
