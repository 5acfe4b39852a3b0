"""FPGA boards: JSON descriptions and resource budgets."""

from finn_resnet.boards.board import Board, board_file, known_boards, load_board
from finn_resnet.boards.resources import RESOURCE_NAMES, Resources, total

__all__ = [
    "RESOURCE_NAMES",
    "Board",
    "Resources",
    "board_file",
    "known_boards",
    "load_board",
    "total",
]
