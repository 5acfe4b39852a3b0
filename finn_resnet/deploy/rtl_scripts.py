"""Scripts from the generated SystemVerilog to IP and bitstream: Vivado, Makefile."""

from __future__ import annotations

import os
from pathlib import Path

from finn_resnet.boards import Board
from finn_resnet.deploy.scripts import render_scripts, script_context
from finn_resnet.generation.project_file import Project
from finn_resnet.generation.rtl.rtl_project import SOURCE_LIST
from finn_resnet.output_folder import DEPLOY_FOLDER, RTL_FOLDER

_TEMPLATES = {
    "Makefile": "rtl_makefile.j2",
    "check_tools.sh": "check_tools.sh.j2",
    "package_ip.tcl": "package_ip.tcl.j2",
    "vivado.tcl": "vivado.tcl.j2",
}
# Files that sources include or read by name, as the project's own.
_READ_BY_SOURCES = (".svh", ".mem")
IP = {"vendor": "finn_resnet", "library": "rtl", "version": "1.0"}
"""Names of the packaged IP besides the top's."""


def write_rtl_scripts(
    project: Project, board: Board, output_dir: str | Path, clock_mhz: float
) -> list[Path]:
    """Write the vendor scripts into ``<output_dir>/rtl``, where the sources lie.

    Args:
        project: the project of the same graph, whose ports the IP has.
        board: target; where its file describes no processing system, only IP can be made.
        output_dir: the build's folder; the bitstream goes to its ``deploy``.
        clock_mhz: fabric clock in MHz.

    Returns:
        The files written.

    Raises:
        UserError: the board file describes half a processing system, or the clock is no positive
            number.
    """
    folder = Path(output_dir) / RTL_FOLDER
    deploy = os.path.relpath(Path(output_dir).resolve() / DEPLOY_FOLDER, folder.resolve())
    listed = (folder / SOURCE_LIST).read_text(encoding="utf-8").split()
    read = sorted(path.name for path in folder.iterdir() if path.suffix in _READ_BY_SOURCES)
    context = script_context(project, board, clock_mhz, 0, Path(deploy).as_posix())
    context |= {"ip": IP, "sources": [*read, *listed]}
    return render_scripts(folder, _TEMPLATES, context)
