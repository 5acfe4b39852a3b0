"""The block design around the accelerator: cells, pins and the address map, before it is Tcl."""

from __future__ import annotations

from dataclasses import dataclass

from finn_resnet.boards import Board
from finn_resnet.deploy.processing_system import ProcessingSystem, processing_system
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import Project

CORE = "accelerator"
COUNTER = "frames_per_packet"
"""Cell names; the driver finds the DMAs and the counter in the overlay by these."""

LENGTH_BITS = 26
"""Width of a DMA's length register: transfers of up to 2^26 - 1 bytes."""

_REGISTER_RANGE = 0x10000


@dataclass(frozen=True)
class Dma:
    """An AXI DMA with one channel: ``cell`` serves stream ``port`` of the accelerator."""

    cell: str
    port: str
    address: int


@dataclass(frozen=True)
class BlockDesign:
    """Cells and addresses: ``readers`` carry memory to the accelerator, ``writers`` its results.

    ``counter_address`` is that of the GPIO that holds how many frames make a packet (a transfer of
    a writer DMA ends with a packet).
    """

    system: ProcessingSystem
    readers: list[Dma]
    writers: list[Dma]
    counter_address: int
    register_range: int = _REGISTER_RANGE

    @property
    def dmas(self) -> list[Dma]:
        """All of them, in the order of their addresses."""
        return [*self.readers, *self.writers]


def dma_cell(port: str) -> str:
    """Name of the DMA that serves stream ``port``."""
    return f"dma_{port}"


def block_design(project: Project, board: Board) -> BlockDesign:
    """Lay out the design for the ports of project.json.

    Args:
        project: the generated project.
        board: the target.

    Raises:
        UserError: the board file does not describe its processing system, or the design needs
            URAM and the board has none.
    """
    system = processing_system(board)
    read = [port.name for port in project.inputs]
    parameters = project.parameters
    if parameters and board.budget.uram == 0:
        raise UserError(
            f"board {board.name} has no URAM, but {', '.join(parameters.layers)} keep their "
            "weights there; give them mem_style bram or lut"
        )
    if parameters:
        read.append(parameters.name)
    written = [port.name for port in project.outputs]
    addresses = {
        name: system.control.base_address + index * _REGISTER_RANGE
        for index, name in enumerate([*read, *written, COUNTER])
    }
    _check_disjoint(board, system, max(addresses.values()) + _REGISTER_RANGE)
    return BlockDesign(
        system=system,
        readers=[Dma(dma_cell(name), name, addresses[name]) for name in read],
        writers=[Dma(dma_cell(name), name, addresses[name]) for name in written],
        counter_address=addresses[COUNTER],
    )


def _check_disjoint(board: Board, system: ProcessingSystem, end: int) -> None:
    memory, begin = system.memory, system.control.base_address
    if begin < memory.offset + memory.range and memory.offset < end:
        raise UserError(
            f"board {board.name}: control.base_address {begin:#x} lies in the memory range "
            f"{memory.offset:#x} to {memory.offset + memory.range:#x}; move one of them"
        )
