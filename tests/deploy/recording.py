"""Runs generated Tcl under a plain Tcl interpreter with the recorders of `tcl/`."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

RECORDERS = Path(__file__).parent / "tcl"
BOARD_PARTS = (
    "xilinx.com:kv260_som:part0:1.3",
    "xilinx.com:kv260_som:part0:1.10",
    "xilinx.com:kv260_som:part0:1.4",
    "avnet.com:ultra96v2:part0:1.2",
    "em.avnet.com:ultra96v2:part0:1.0",
)


@dataclass(frozen=True)
class Recording:
    """How a script ended, and the facts it left, each a list of words."""

    status: int
    errors: str
    facts: list[list[str]]

    def of(self, kind: str) -> list[list[str]]:
        """The facts of one kind, without the kind."""
        return [fact[1:] for fact in self.facts if fact[0] == kind]


def record(
    recorder: str,
    script: Path,
    *,
    core: str = "finn_resnet:hls:small:1.0",
    streams: str = "input slave output master",
    board_parts: tuple[str, ...] = BOARD_PARTS,
    slack: str = "0.12",
    **environment: str,
) -> Recording:
    """Run ``script`` under ``tcl/<recorder>.tcl``; skips where there is no Tcl interpreter."""
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("no tclsh (Debian package tcl)")
    facts = script.parent / f"{script.name}.facts"
    facts.unlink(missing_ok=True)
    done = subprocess.run(
        [tclsh, str(RECORDERS / f"{recorder}.tcl"), str(script), str(facts)],
        cwd=script.parent,
        env={
            **os.environ,
            "RECORDER_CORE": core,
            "RECORDER_STREAMS": streams,
            "RECORDER_BOARD_PARTS": " ".join(board_parts),
            "RECORDER_SLACK": slack,
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    lines = facts.read_text().splitlines() if facts.is_file() else []
    return Recording(done.returncode, done.stderr, [line.split("\t") for line in lines])
