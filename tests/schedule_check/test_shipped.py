"""The shipped configurations: their schedule, and AMD's published front end on their sources."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from finn_resnet.build.flow import build
from finn_resnet.build.steps import DEFAULT_STEPS
from finn_resnet.cli import run
from finn_resnet.config import load_config
from finn_resnet.schedule_check.clang import find_clang, no_clang_reason

pytestmark = pytest.mark.slow

FRONT_END = Path(__file__).parents[2].parent / "shared" / "hls-frontend" / "check_front_end.sh"
CONFIGURATIONS = [
    f"{model}_{board}{mode}"
    for model in ("resnet8", "resnet20")
    for board in ("kv260", "ultra96")
    for mode in ("", "_paper")
]
# The generated sources do not depend on the depths that sizing would find.
STEPS = [*DEFAULT_STEPS[: DEFAULT_STEPS.index("step_size_streams")], "step_generate"]


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def output(request, tmp_path_factory) -> Path:
    """The output folder of a shipped configuration's C++."""
    folder = tmp_path_factory.mktemp(request.param)
    build(load_config(request.param, {"output_dir": str(folder / "out"), "steps": STEPS}))
    return folder / "out"


@pytest.mark.skipif(find_clang() is None, reason=no_clang_reason())
def test_the_schedule_is_clean(output, capsys):
    assert run(["check-hls", str(output)]) == 0
    assert "output_dma_0" in capsys.readouterr().out


@pytest.mark.skipif(not FRONT_END.is_file(), reason="no ../shared/hls-frontend beside the checkout")
def test_the_published_front_end_accepts_the_sources(output):
    top = re.search(r'"top": "(\w+)"', (output / "hls" / "project.json").read_text())[1]
    done = subprocess.run(
        ["bash", str(FRONT_END), str(output / "hls"), top],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(output.parent)},
    )
    found = [line for line in done.stdout.splitlines() if "warning:" in line or "error:" in line]
    # The front end of 2020.2 wants a literal where `distance = groups` depends on a template.
    unknown = [line for line in found if "'xlx_dependence' attribute requires" not in line]
    assert (done.returncode, unknown) == (0, []), done.stdout + done.stderr
    assert "errors 0" in done.stdout
