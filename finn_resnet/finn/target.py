"""Board and clock of a FINN build."""

from __future__ import annotations

from typing import Any

from finn_resnet.boards import Board, known_boards, load_board
from finn_resnet.errors import UserError


def target_board(cfg: Any) -> Board:
    """The board a DataflowBuildConfig names by ``board`` or, without one, by ``fpga_part``.

    Raises:
        UserError: we know no such board or part.
    """
    if cfg.board is not None:
        return load_board(cfg.board)
    boards = {load_board(name).part: load_board(name) for name in known_boards()}
    if cfg.fpga_part not in boards:
        raise UserError(
            f"fpga_part = {cfg.fpga_part!r} is on no board we know ({', '.join(sorted(boards))}); "
            "set 'board' in the build configuration"
        )
    return boards[cfg.fpga_part]


def clock_mhz(cfg: Any) -> float:
    """Clock of a DataflowBuildConfig in MHz, to a hertz."""
    return round(1000 / cfg.synth_clk_period_ns, 6)
