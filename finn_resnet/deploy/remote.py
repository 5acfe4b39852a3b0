"""Copy `deploy/` to a board and run its test vectors there, with the user's own ssh and scp."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from finn_resnet.deploy.driver import MANIFEST
from finn_resnet.errors import UserError
from finn_resnet.output_folder import DEPLOY_FOLDER

REMOTE_FOLDER = "finn_resnet_deploy"


def deploy_to_board(
    output_dir: str | Path, host: str, folder: str = REMOTE_FOLDER, python: str = "sudo -E python3"
) -> int:
    """Copy the deploy folder of a build to `host` and run `driver.py` there; its output is shown.

    Args:
        output_dir: the output folder of a build, its bitstream made.
        host: `user@board`, as for ssh.
        folder: folder on the board, from the user's home.
        python: command on the board that runs the driver; pynq needs root.

    Returns:
        The driver's exit status: 0 every code right, 1 codes differ, 2 a fault it names.

    Raises:
        UserError: no bitstream, no ssh or scp here, or the board cannot be reached.
    """
    source = Path(output_dir) / DEPLOY_FOLDER
    _check_source(source)
    for program in ("ssh", "scp"):
        if shutil.which(program) is None:
            raise UserError(f"'{program}' is no program on the PATH; install an OpenSSH client")
    target = shlex.quote(folder)
    _reach(["ssh", host, f"mkdir -p {target}"], host)
    _reach(["scp", "-r", *map(str, sorted(source.iterdir())), f"{host}:{folder}/"], host)
    status = subprocess.run(["ssh", host, f"cd {target} && {python} driver.py"]).returncode
    if status not in (0, 1, 2):
        raise UserError(
            f"'{python} driver.py' on {host} ended with status {status}; it needs NumPy and "
            "pynq, and root (see --python)"
        )
    return status


def _check_source(source: Path) -> None:
    if not (source / MANIFEST).is_file():
        raise UserError(f"'{source}' holds no {MANIFEST}; build with step_write_driver")
    if not list(source.glob("*.bit")) or not list(source.glob("*.hwh")):
        raise UserError(
            f"'{source}' holds no bitstream (.bit, .hwh); run `make bitstream` in the build's hls/"
        )


def _reach(command: list[str], host: str) -> None:
    if subprocess.run(command).returncode:
        raise UserError(f"'{' '.join(command[:2])}' failed; check that `ssh {host}` works")
