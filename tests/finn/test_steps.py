"""Real FINN builds with our steps; only what belongs to Vivado and Vitis is a stand-in."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from math import prod
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import load_board
from finn_resnet.errors import UserError
from finn_resnet.parallelism import Estimate, estimate
from finn_resnet.parallelism.coefficients import coefficients
from finn_resnet.simulation.ap_headers import find_ap_headers
from tests.finn.conftest import CHECKOUT, RunFinn
from tests.qonnx_models import residual_network

CONFIGS = CHECKOUT / "build_configs" / "finn"
BUILD = CONFIGS / "build_resnet.py"
ESTIMATE_CONFIG = CONFIGS / "resnet8_kv260_estimate.json"
STITCHED_CONFIG = CONFIGS / "resnet8_kv260_stitched_ip.json"
SIZED = "step_size_streams.onnx"


def report(output: Path, name: str) -> dict:
    return json.loads((output / "report" / name).read_text())


def our_estimate(output: Path) -> Estimate:
    """The cost model on the graph with its final factors and stream depths."""
    graph = ModelWrapper(str(output / "intermediate_models" / SIZED))
    return estimate(graph, load_board("KV260"), 250.0)


@pytest.fixture(scope="module")
def built(run_finn: RunFinn, cxx, tmp_path_factory) -> Path:
    """Output of an estimate build: of a real ResNet8 where it lies beside the checkout."""
    folder = tmp_path_factory.mktemp("estimate")
    model = CHECKOUT.parent / "shared" / "models" / "resnet8_a8w8b16.onnx"
    if not model.is_file():
        model = folder / "small.onnx"
        residual_network().save(str(model))
    done = run_finn(BUILD, model, ESTIMATE_CONFIG, folder / "output")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "output"


def test_finn_reports_our_cycles(built):
    expected = our_estimate(built)
    cycles = report(built, "estimate_layer_cycles.json")
    assert cycles == {layer.name: layer.cycles for layer in expected.layers}
    performance = report(built, "estimate_network_performance.json")
    assert performance["max_cycles"] == expected.cycles_per_frame
    assert performance["estimated_throughput_fps"] == pytest.approx(expected.fps)
    assert expected.fps >= 30000


def test_finn_reports_our_resources(built):
    expected = our_estimate(built)
    resources = report(built, "estimate_layer_resources.json")
    keys = {"DSP": "dsp", "LUT": "lut", "FF": "ff", "URAM": "uram"}
    for layer in expected.layers:
        figures = asdict(layer)
        for theirs, ours in keys.items():
            assert resources[layer.name][theirs] == figures[ours]
        assert resources[layer.name]["BRAM_18K"] == 2 * layer.bram36
    totals = expected.totals
    assert resources["total"]["DSP"] == totals.dsp > 0
    assert resources["total"]["LUT"] == totals.lut > 0
    assert resources["total"]["BRAM_18K"] == 2 * totals.bram36


def test_finn_counts_the_operations_and_parameters_of_the_original(built):
    original = ModelWrapper(str(built / "intermediate_models" / "step_import.onnx"))
    products = weights = 0
    for node in original.get_nodes_by_op_type("Conv"):
        kernel = prod(original.get_tensor_shape(node.input[1]))
        weights += kernel
        products += kernel * prod(original.get_tensor_shape(node.output[0])[2:])
    total = report(built, "op_and_param_counts.json")["total"]
    assert sum(total[key] for key in total if key.startswith("param_weight")) == weights > 0
    assert sum(total[key] for key in total if key.startswith("op_mac")) == products > 0


def test_the_simulated_rate_is_the_estimated_one(built):
    simulation = report(built, "cycle_simulation.json")
    performance = report(built, "estimate_network_performance.json")
    assert simulation["deadlock"] is None
    slower = simulation["cycles_per_frame"] / performance["max_cycles"]
    assert 1 <= slower <= 1.01
    sizing = report(built, "stream_sizing.json")
    assert sizing["sized_period"] == sizing["full_rate_period"]


def test_the_cpp_of_the_build_is_verified(built):
    verification = report(built, "cpp_verification.json")
    assert verification["mismatched_codes"] == 0
    assert verification["images"] == 3
    assert verification["compared_codes"] > 1000


@pytest.fixture(scope="module")
def vendor_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand-ins that leave the folders and files FINN looks for after Vitis HLS and Vivado."""
    folder = tmp_path_factory.mktemp("tools")
    scripts = {
        "vitis_hls": """node=$(basename "$1" .tcl); node=${node#hls_syn_}
mkdir -p "$(dirname "$1")/project_$node/sol1/impl/ip" """
        + """"$(dirname "$1")/project_$node/sol1/impl/verilog"
""",
        "vivado": """hdl=finn_vivado_stitch_proj.srcs/sources_1/bd/finn_design/hdl
mkdir -p $hdl && touch $hdl/finn_design_wrapper.v all_verilog_srcs.txt
""",
    }
    for name, body in scripts.items():
        (folder / name).write_text("#!/bin/bash\nset -e\n" + body)
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def stitched_output(run_finn: RunFinn, vendor_tools: Path, cxx, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stitched")
    residual_network().save(str(folder / "model.onnx"))
    tools = {"FINN_TOOL_DIR_OVERRIDE": str(vendor_tools)}
    done = run_finn(BUILD, folder / "model.onnx", STITCHED_CONFIG, folder / "output", **tools)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "output"


def pins(text: str, command: str) -> list[tuple[str, ...]]:
    """Interface pins each line of ``command`` names."""
    lines = [line for line in text.splitlines() if line.startswith(command)]
    return [tuple(re.findall(r"get_bd_intf_pins (\S+)\]", line)) for line in lines]


def test_finn_stitches_every_stream_once(stitched_output):
    script = (stitched_output / "stitched_ip" / "make_project.tcl").read_text()
    links = pins(script, "connect_bd_intf_net")
    external = pins(script, "make_bd_intf_pins_external")
    graph = ModelWrapper(str(stitched_output / "intermediate_models" / "step_stitch_ip.onnx"))
    expected = set()
    constants = {entry.name for entry in graph.graph.initializer}
    for node in graph.graph.node:
        for index, tensor in enumerate(node.input):
            producer = graph.find_producer(tensor)
            if producer is not None:
                output = list(producer.output).index(tensor)
                expected.add((f"{producer.name}/out{output}_V", f"{node.name}/in{index}_V"))
            else:
                assert tensor in constants or tensor == graph.graph.input[0].name
    assert set(links) == expected
    used = [pin for link in [*links, *external] for pin in link]
    assert len(used) == len(set(used))
    assert len(external) == 2


def test_finn_fifos_have_our_depths(stitched_output):
    models = stitched_output / "intermediate_models"
    plain = ModelWrapper(str(models / SIZED))
    stitched = ModelWrapper(str(models / "step_stitch_ip.onnx"))
    attributes = {
        node.input[0]: {entry.name: entry.i for entry in node.attribute}
        for node in stitched.graph.node
        if node.op_type.startswith("StreamingFIFO")
    }
    compared = 0
    for node in plain.graph.node:
        depths = next((list(a.ints) for a in node.attribute if a.name == "out_depths"), [])
        for tensor, depth in zip(node.output, depths, strict=False):
            if node.op_type != "OutputDMA" and depth > 2:
                assert attributes[tensor]["depth"] == depth
                compared += 1
    assert compared >= 2


def test_a_model_without_quantisers_is_one_line_in_finns_log(run_finn, tmp_path):
    shape = [1, 3, 8, 8]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="relu")],
        "float",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "float.onnx")
    done = run_finn(BUILD, tmp_path / "float.onnx", ESTIMATE_CONFIG, tmp_path / "output")
    log = (tmp_path / "output" / "build_dataflow.log").read_text()
    errors = [line for line in log.splitlines() if "FINN ERROR" in line]
    assert done.returncode != 0
    assert len(errors) == 1
    assert "it has no Quant node" in errors[0]
    assert "Traceback" not in log + done.stdout + done.stderr


def test_the_steps_use_a_coefficients_file(run_finn: RunFinn, tmp_path):
    """Every step does: prices reach FINN's estimates, and a bad file is one line of its log."""
    residual_network().save(str(tmp_path / "model.onnx"))
    names = ("step_import", "step_lower", "step_set_parallelism", "step_create_partition",
             "step_estimate_reports")  # fmt: skip
    steps = [f"finn_resnet.finn.steps.{name}" for name in names]
    config = json.loads(ESTIMATE_CONFIG.read_text()) | {"steps": steps}
    (tmp_path / "config.json").write_text(json.dumps(config))
    prices = {n: e for n, e in coefficients().items() if e.get("resource") == "lut"}
    tripled = {n: {b: 3 * e[b] for b in ("low", "high")} for n, e in prices.items()}
    (tmp_path / "mine.json").write_text(json.dumps(tripled))

    def run(output: Path, **environment: str):
        arguments = (tmp_path / "model.onnx", tmp_path / "config.json", output)
        return run_finn(BUILD, *arguments, **environment)

    luts = []
    for file in ("", str(tmp_path / "mine.json")):
        output = tmp_path / f"output{len(luts)}"
        assert run(output, FINN_RESNET_COEFFICIENTS_FILE=file).returncode == 0
        luts.append(report(output, "estimate_layer_resources.json")["total"]["LUT"])
    assert luts[1] > 1.5 * luts[0]
    assert run(tmp_path / "bad", FINN_RESNET_COEFFICIENTS_FILE="missing.json").returncode != 0
    assert "coefficients file 'missing.json'" in (tmp_path / "bad/build_dataflow.log").read_text()


def test_an_unknown_board_is_named(run_finn: RunFinn, tmp_path):
    residual_network().save(str(tmp_path / "model.onnx"))
    config = json.loads(ESTIMATE_CONFIG.read_text()) | {"board": "Pynq-Z1"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = run_finn(BUILD, tmp_path / "model.onnx", tmp_path / "config.json", tmp_path / "output")
    log = (tmp_path / "output" / "build_dataflow.log").read_text()
    assert done.returncode != 0
    assert "board 'Pynq-Z1' is unknown" in log
    assert "Traceback" not in log


def test_our_layers_run_in_finns_cpp_simulation(stitched_output, run_finn: RunFinn, cxx, tmp_path):
    """Two layers through FINN's PrepareCppSim, CompileCppSim and execute_onnx."""
    try:
        headers = find_ap_headers()
    except UserError as reason:
        pytest.skip(str(reason))
    (tmp_path / "include").symlink_to(headers)
    script = tmp_path / "simulate.py"
    script.write_text(CPP_SIMULATION)
    graph = stitched_output / "intermediate_models" / "step_create_partition.onnx"
    done = run_finn(script, graph, XILINX_HLS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2:] == ["equal", "8"]


def test_fresh_worker_processes_know_our_layers(stitched_output, run_finn, vendor_tools, tmp_path):
    """As in `finn build`, whose workers are started anew; FINN's own HLSSynthIP fails there."""
    script = tmp_path / "synthesise.py"
    script.write_text(SYNTHESIS)
    graph = stitched_output / "intermediate_models" / "step_prepare_ip.onnx"
    environment = {"FINN_TOOL_DIR_OVERRIDE": str(vendor_tools), "NUM_DEFAULT_WORKERS": "2"}
    done = run_finn(script, graph, **environment)
    assert done.returncode == 0, done.stderr
    layers = len(ModelWrapper(str(graph)).graph.node)
    assert done.stdout.split() == ["spawn", str(layers), "refused"]


SYNTHESIS = """
import sys

def main():
    from finn.transformation.fpgadataflow.hlssynth_ip import HLSSynthIP
    from finn.util.exception import FINNUserError
    from finn.util.multiprocessing import configure_start_method
    from finn_resnet.finn.synthesise_layers import SynthesiseLayers
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.custom_op.registry import getCustomOp

    print(configure_start_method())
    model = ModelWrapper(sys.argv[1]).transform(SynthesiseLayers())
    print(sum(getCustomOp(node).get_nodeattr("ip_path") != "" for node in model.graph.node))
    try:
        ModelWrapper(sys.argv[1]).transform(HLSSynthIP())
    except FINNUserError:
        print("refused")

if __name__ == "__main__":
    main()
"""

CPP_SIMULATION = """
import sys
import numpy as np
from finn.core.onnx_exec import execute_onnx
from finn.transformation.fpgadataflow.set_exec_mode import SetExecMode
from qonnx.core.modelwrapper import ModelWrapper
from finn_resnet.finn.synthesise_layers import CompileLayerSimulation, PrepareLayerSimulation

model = ModelWrapper(sys.argv[1])
(dma,) = model.get_nodes_by_op_type("InputDMA_hls")
kept = [dma, *model.find_consumers(dma.output[0])]
for node in list(model.graph.node):
    if node not in kept:
        model.graph.node.remove(node)
windows = model.get_tensor_valueinfo(kept[-1].output[0])
model.graph.value_info.remove(windows)
del model.graph.output[:]
model.graph.output.append(windows)
rng = np.random.default_rng(2)
codes = rng.integers(-128, 128, model.get_tensor_shape(dma.input[0])).astype(np.float32)
inputs = {dma.input[0]: codes}
python = execute_onnx(model, inputs)[kept[-1].output[0]]
for step in (PrepareLayerSimulation(1), CompileLayerSimulation(1), SetExecMode("cppsim")):
    model = model.transform(step)
cpp = execute_onnx(model, inputs)[kept[-1].output[0]]
print("equal" if np.array_equal(python, cpp) and python.any() else "different", python.shape[1])
"""


def test_layers_are_known_to_finn_when_a_script_registers_them(run_finn, tmp_path):
    script = tmp_path / "register.py"
    script.write_text(
        "import finn_resnet.finn\n"
        "import finn_resnet.finn.layers\n"
        "from finn.custom_op import fpgadataflow\n"
        "print('StreamConv' in fpgadataflow.custom_op)\n"
        "finn_resnet.finn.register()\n"
        "finn_resnet.finn.register()\n"
        "print('StreamConv' in fpgadataflow.custom_op)\n"
    )
    done = run_finn(script)
    assert done.stdout.split()[-2:] == ["False", "True"], done.stdout + done.stderr
