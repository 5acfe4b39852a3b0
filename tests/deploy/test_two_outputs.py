"""A network with two outputs, from the graph to the driver."""

from __future__ import annotations

import numpy as np
import pytest
from qonnx.core.onnx_exec import execute_onnx

from finn_resnet.boards import load_board
from finn_resnet.deploy import write_deploy_folder, write_scripts
from finn_resnet.deploy.driver import Accelerator, check_vectors
from finn_resnet.deploy.simulated_pynq import SimulatedPynq
from finn_resnet.generation.project import generate_project
from finn_resnet.transformation import SetStreamDepths
from tests.deploy.conftest import optimised, two_output_network, with_uram
from tests.deploy.recording import record


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    model = with_uram(optimised(two_output_network()).transform(SetStreamDepths()), [1])
    project = generate_project(model, folder, "two")
    board = load_board("KV260")
    write_scripts(model, project, board, folder, 250.0)
    write_deploy_folder(model, project, board, folder, 250.0)
    return model, project, folder


def test_every_output_has_its_dma(build):
    _, project, _ = build
    run = record(
        "vivado",
        project.directory / "vivado.tcl",
        core="finn_resnet:hls:two:1.0",
        streams="input slave parameters slave output0 master output1 master",
    )
    assert run.status == 0, run.errors
    for name in ("output0", "output1"):
        assert [f"packet_end_{name}/m_axis", f"dma_{name}/S_AXIS_S2MM"] in run.of("link")
    registers = {row[2] for row in run.of("address") if row[0] == "ps/Data"}
    assert len(registers) == 5


@pytest.mark.slow
def test_the_driver_returns_both(build):
    model, project, folder = build
    accelerator = Accelerator(folder / "deploy", pynq=SimulatedPynq(project.directory))
    accelerator.load_parameters()
    assert check_vectors(accelerator) == (3, 0)
    accelerator.manifest["largest_transfer"] = 600
    assert accelerator.largest_batch == 2
    pictures = np.random.default_rng(0).normal(0, 0.5, (5, 3, 8, 8)).astype(np.float32)
    codes = accelerator.run_codes(accelerator.quantise(pictures))
    values = [accelerator.dequantise(codes[f"output{i}"], i) for i in range(2)]
    name = model.graph.input[0].name
    for i, picture in enumerate(pictures):
        expected = execute_onnx(model, {name: picture[None]})
        for output, found in zip(model.graph.output, values, strict=True):
            assert np.array_equal(found[i], expected[output.name][0])
