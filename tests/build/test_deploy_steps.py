"""The deploy steps inside a whole build."""

from __future__ import annotations

import json

import numpy as np
import pytest

from finn_resnet.boards import load_board
from finn_resnet.build import build
from finn_resnet.build.preflight import checked_model, completed
from finn_resnet.config import BuildConfig
from finn_resnet.deploy.driver import Accelerator, check_vectors
from finn_resnet.deploy.simulated_pynq import SimulatedPynq
from finn_resnet.errors import UserError
from tests.deploy.recording import record
from tests.qonnx_models import residual_network

STEPS = (
    "step_merge_batch_norm",
    "step_lower_to_hardware",
    "step_fuse_requant_chains",
    "step_merge_downsample",
    "step_forward_window_buffer",
    "step_absorb_add",
    "step_set_parallelism",
    "step_insert_width_adapters",
    "step_set_stream_depths",
    "step_generate",
    "step_write_scripts",
    "step_write_driver",
)


@pytest.mark.slow
def test_a_build_ends_in_a_folder_for_the_board(tmp_path):
    residual_network().save(str(tmp_path / "net.onnx"))
    result = build(
        BuildConfig(
            model=str(tmp_path / "net.onnx"),
            board="KV260",
            mode="paper",
            output_dir=str(tmp_path / "out"),
            synth_clk_period_ns=5.0,
            input_mean=(0.5,),
            input_std=(0.25,),
            verify_num_images=6,
            steps=STEPS,
        )
    )
    hls, deploy = result.output_dir / "hls", result.output_dir / "deploy"
    accelerator = Accelerator(deploy, pynq=SimulatedPynq(hls))
    assert check_vectors(accelerator) == (6, 0)
    vectors = np.load(deploy / "vectors.npz")
    assert len({codes.tobytes() for codes in vectors["input"]}) == 6
    manifest = json.loads((deploy / "accelerator.json").read_text())
    assert manifest["input_mean"] == [0.5] and manifest["input_std"] == [0.25]
    # The scripts find deploy/ from where the finished build lies, at the clock of the build.
    run = record("vivado", hls / "vivado.tcl", core="finn_resnet:hls:net:1.0")
    assert run.status == 0, run.errors
    assert (deploy / "net.bit").is_file()
    clock = [row[2] for row in run.of("property") if row[1].endswith("PL0_REF_CTRL__FREQMHZ")]
    assert clock == ["200"]


def test_a_board_that_gives_no_scripts_is_refused_before_the_build(tmp_path):
    residual_network().save(str(tmp_path / "net.onnx"))
    board = load_board("KV260")
    description = {
        "name": "Own",
        "part": board.part,
        "board_part": board.board_part,
        "clock_mhz": 100,
        "budget": {name: int(amount) for name, amount in board.budget.as_dict().items()},
    }
    description["processing_system"] = {"reset_pin": "pl_resetn0"}
    (tmp_path / "own.json").write_text(json.dumps(description))
    settings = {"model": str(tmp_path / "net.onnx"), "board": str(tmp_path / "own.json")}
    output = tmp_path / "out"
    config = BuildConfig(**settings, output_dir=str(output))
    with pytest.raises(UserError, match=r"'processing_system\.ip' is missing"):
        checked_model(completed(config))
    # Without that step the board does.
    steps = [step for step in STEPS if step not in ("step_write_scripts", "step_write_driver")]
    build(config.replace(steps=steps[:2]))
    assert output.is_dir()
