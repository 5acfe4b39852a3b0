"""The PYNQ driver, end to end on the compiled C++: the same codes as the plain simulation."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from qonnx.custom_op.general.intquant import resolve_rounding_mode
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import load_board
from finn_resnet.custom_ops import host_steps
from finn_resnet.custom_ops.base import DOMAIN
from finn_resnet.deploy import driver as driver_module
from finn_resnet.deploy.deploy_folder import input_description, write_deploy_folder
from finn_resnet.deploy.driver import Accelerator, DriverError, Stream, check_vectors
from finn_resnet.deploy.simulated_pynq import DeviceWaits, SimulatedPynq
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import Project
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import run_codes
from tests.deploy.conftest import BOARDS, CLOCKS

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]


class Deployed:
    """A deploy folder and the project whose simulation is its device."""

    def __init__(self, board: str, model, folder: Path) -> None:
        self.model = model
        self.project: Project = generate_project(model, folder, "small")
        self.folder = write_deploy_folder(
            model,
            self.project,
            load_board(board),
            folder,
            CLOCKS[board],
            input_mean=(0.5, 0.4, 0.3),
            input_std=(0.25,),
        )

    def accelerator(self, **options) -> Accelerator:
        return Accelerator(self.folder, pynq=SimulatedPynq(self.project.directory), **options)

    def plain(self, codes: np.ndarray) -> np.ndarray:
        return run_codes(compile_project(self.project.directory), codes).output


@pytest.fixture(scope="module")
def deployed(hardware_model, uram_model, tmp_path_factory) -> dict[str, Deployed]:
    """KV260 keeps its weights in URAM, Ultra96 has none."""
    models = {"KV260": uram_model, "Ultra96": hardware_model}
    return {
        board: Deployed(board, models[board], tmp_path_factory.mktemp(board)) for board in BOARDS
    }


@pytest.fixture(params=BOARDS)
def either(request, deployed) -> Deployed:
    return deployed[request.param]


def codes(count: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, (count, 8, 8, 3))


def test_100_images_give_the_codes_of_the_plain_simulation(either):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    images = codes(100)
    expected = either.plain(images)
    assert len(np.unique(expected, axis=0)) > 50
    assert np.array_equal(accelerator.run_codes(images)["output"], expected)
    # A second run, with nothing loaded again, and other images.
    others = codes(7, seed=4)
    assert np.array_equal(accelerator.run_codes(others)["output"], either.plain(others))


def test_batches_are_cut_to_what_a_transfer_takes(either):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    accelerator.manifest["largest_transfer"] = 16 * 192 + 191
    assert accelerator.largest_batch == 16
    images = codes(41)
    assert np.array_equal(accelerator.run_codes(images)["output"], either.plain(images))


def test_the_cycle_level_simulation_is_a_device_too(deployed):
    kv260 = deployed["KV260"]
    pynq = SimulatedPynq(kv260.project.directory, timed=True)
    accelerator = Accelerator(kv260.folder, pynq=pynq)
    accelerator.load_parameters()
    images = codes(3)
    assert np.array_equal(accelerator.run_codes(images)["output"], kv260.plain(images))


def test_a_run_before_loading_is_refused(deployed):
    accelerator = deployed["KV260"].accelerator()
    for run in (lambda: accelerator.run_codes(codes(1)), accelerator.measure):
        with pytest.raises(DriverError, match=r"call load_parameters\(\) first"):
            run()
    accelerator.load_parameters()
    assert accelerator.run_codes(codes(1))["output"].shape == (1, 1, 1, 5)


@pytest.mark.parametrize("timed", [False, True])
def test_the_device_itself_waits_before_loading(deployed, timed):
    kv260 = deployed["KV260"]
    pynq = SimulatedPynq(kv260.project.directory, timed=timed)
    accelerator = Accelerator(kv260.folder, pynq=pynq)
    accelerator._loaded = True
    with pytest.raises(DeviceWaits, match="waits for its parameters"):
        accelerator.run_codes(codes(1))


def test_loading_twice_is_refused(deployed):
    accelerator = deployed["KV260"].accelerator()
    accelerator.load_parameters()
    with pytest.raises(DriverError, match="loaded already"):
        accelerator.load_parameters()
    accelerator._loaded = False
    with pytest.raises(DeviceWaits, match="reads no more"):
        accelerator.load_parameters()


def test_a_new_bitstream_needs_its_weights_again(deployed):
    deployed["KV260"].accelerator().load_parameters()
    with pytest.raises(DriverError, match="not loaded"):
        deployed["KV260"].accelerator().run_codes(codes(1))


def test_damaged_parameters_are_refused(deployed, tmp_path):
    kv260 = deployed["KV260"]
    accelerator = kv260.accelerator()
    content = (kv260.folder / "parameters.bin").read_bytes()
    accelerator.folder = tmp_path
    with pytest.raises(DriverError, match="cannot be read: copy the whole deploy folder"):
        accelerator.load_parameters()
    for wrong in (content[:-1], bytes([content[0] ^ 1]) + content[1:]):
        (tmp_path / "parameters.bin").write_bytes(wrong)
        with pytest.raises(DriverError, match="is not this design's"):
            accelerator.load_parameters()


def test_vectors_agree_and_a_wrong_code_is_counted(either, tmp_path):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    assert check_vectors(accelerator) == (3, 0)
    vectors = dict(np.load(either.folder / "vectors.npz"))
    vectors["output"][1, 0, 0, 2] ^= 1
    np.savez(tmp_path / "vectors.npz", **vectors)
    accelerator.folder = tmp_path
    assert check_vectors(accelerator) == (3, 1)


def test_pictures_become_the_values_of_the_model(either):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    pictures = np.random.default_rng(0).normal(0, 0.6, (5, 3, 8, 8)).astype(np.float32)
    name = either.model.graph.input[0].name
    output = either.model.graph.output[0].name
    from qonnx.core.onnx_exec import execute_onnx

    expected = [execute_onnx(either.model, {name: picture[None]})[output] for picture in pictures]
    found = accelerator.run(pictures)
    assert found.dtype == np.float32
    assert np.array_equal(found, np.concatenate(expected))


def test_evaluation_gives_accuracy_and_codes(either):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    images = np.random.default_rng(1).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    labels = accelerator.classify(images)
    wrong = labels.copy()
    wrong[:3] = (wrong[:3] + 1) % 5
    result = accelerator.evaluate(images, wrong)
    assert result.accuracy == 0.75
    assert np.array_equal(result.labels, labels)
    assert np.array_equal(result.codes.reshape(12, 5).argmax(axis=1), labels)
    # Mean and deviation of the manifest reach the codes.
    expected = (images / 255 - np.array([0.5, 0.4, 0.3])) / 0.25
    assert np.allclose(np.moveaxis(accelerator.normalise(images), 1, -1), expected, atol=1e-6)


def test_measure_times_batches_and_single_frames(either):
    accelerator = either.accelerator()
    accelerator.load_parameters()
    found = accelerator.measure(frames=4, repeats=2)
    assert found.frames == 4 and found.frames_per_second > 0 and found.latency_s > 0
    with pytest.raises(DriverError, match="must be at least 1"):
        accelerator.measure(frames=0)
    accelerator.close()
    images = codes(2)
    assert np.array_equal(accelerator.run_codes(images)["output"], either.plain(images))


BAD_CODES = [
    (np.zeros((1, 8, 8, 3)), "takes integer codes, not float64"),
    (np.zeros((8, 8, 3), int), r"takes codes \[N, 8, 8, 3\] with N >= 1, not \[8, 8, 3\]"),
    (np.zeros((1, 3, 8, 8), int), r"not \[1, 3, 8, 8\]"),
    (np.zeros((0, 8, 8, 3), int), r"with N >= 1, not \[0, 8, 8, 3\]"),
    (np.full((1, 8, 8, 3), 128), "takes codes -128 to 127, found 128 to 128"),
    ({"inputs": np.zeros((1, 8, 8, 3), int)}, r"the inputs are \['input'\]"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_CODES)
def test_bad_codes_are_one_line(deployed, bad, message):
    with pytest.raises(DriverError, match=message) as error:
        deployed["Ultra96"].accelerator().run_codes(bad)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.quantise(np.zeros((1, 8, 8, 3), np.float32)), "pictures must be floats"),
        (lambda a: a.quantise(np.zeros((1, 3, 8, 8), int)), "pictures must be floats"),
        (lambda a: a.classify(np.zeros((1, 8, 8, 3))), "images must be uint8"),
        (lambda a: a.classify(np.zeros((1, 3, 8, 8), np.uint8)), "images must be uint8"),
        (
            lambda a: a.evaluate(np.zeros((2, 8, 8, 3), np.uint8), np.zeros(3, int)),
            r"labels must be integers \[2\]",
        ),
    ],
)
def test_bad_pictures_are_one_line(deployed, call, message):
    with pytest.raises(DriverError, match=message):
        call(deployed["Ultra96"].accelerator())


def test_a_missing_bitstream_is_one_line(deployed):
    with pytest.raises(DriverError, match=r"bitstream 'other\.bit' .*run 'make bitstream'"):
        deployed["Ultra96"].accelerator(bit_file="other.bit")


def test_a_folder_without_manifest_is_one_line(tmp_path):
    with pytest.raises(DriverError, match=r"no readable accelerator\.json"):
        Accelerator(tmp_path)


def test_a_bitstream_of_another_design_is_one_line(deployed, tmp_path):
    """The KV260's manifest with the Ultra96's design, which has no parameter DMA."""
    pynq = SimulatedPynq(deployed["Ultra96"].project.directory)
    accelerator = Accelerator(deployed["KV260"].folder, pynq=pynq)
    with pytest.raises(DriverError, match="no block 'dma_parameters'"):
        accelerator.load_parameters()


def test_a_dma_width_that_does_not_divide_is_one_line(deployed):
    ultra96 = deployed["Ultra96"]
    pynq = SimulatedPynq(ultra96.project.directory)

    class Wide:
        allocate = pynq.allocate

        @staticmethod
        def Overlay(name):
            overlay = pynq.Overlay(name)
            overlay.ip_dict["dma_output"]["parameters"]["C_S_AXIS_S2MM_TDATA_WIDTH"] = "256"
            return overlay

    with pytest.raises(DriverError, match="frames of 'output' have 16 bytes, which the 256 bit"):
        Accelerator(ultra96.folder, pynq=Wide)


@given(
    st.sampled_from(sorted(driver_module._ROUNDING)),
    st.lists(st.integers(-600, 600), min_size=12, max_size=12),
    st.booleans(),
    st.integers(-3, 3),
    st.booleans(),
)
def test_quantisation_is_that_of_the_first_quant(mode, halves, signed, zero, first):
    """Ties included: pictures are halves of codes."""
    node = helper.make_node(
        "QuantizeInput",
        ["x"],
        ["y"],
        domain=DOMAIN,
        scale=0.25,
        bits=8,
        signed=int(signed),
        narrow=0,
        rounding_mode=mode,
        zero_point=zero,
        rounds_first=int(first),
        steps='[{"op": "Mul", "value": 0.5}]',
        shape=[1, 3, 2, 2],
    )
    op = getCustomOp(node)
    accelerator = Accelerator.__new__(Accelerator)
    accelerator.manifest = {"quantiser": input_description(op)}
    port = {"name": "x", "dma": "d", "shape": [2, 2, 3], "code_bytes": 1, "signed": signed}
    accelerator.inputs = [Stream(port, 16)]
    pictures = (np.array(halves, np.float32) * 0.125).reshape(1, 3, 2, 2)
    assert np.array_equal(accelerator.quantise(pictures), op.quantise(pictures))
    assert resolve_rounding_mode(mode) is not None


@given(st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 2, 4]), st.booleans())
def test_packing_fills_whole_beats_and_comes_back(frames, channels, size, signed):
    port = {"name": "x", "dma": "d", "shape": [2, 3, channels], "code_bytes": size}
    stream = Stream({**port, "signed": signed}, 16)
    limits = np.iinfo(stream.dtype)
    values = np.random.default_rng(0).integers(
        limits.min, limits.max, (frames, 2, 3, channels), dtype=stream.dtype, endpoint=True
    )
    rows = np.full((frames, stream.padded_bytes), 0xAA, np.uint8)
    stream.pack(values, rows)
    assert stream.padded_bytes % 16 == 0 and not rows[:, stream.frame_bytes :].any()
    assert np.array_equal(stream.unpack(rows), values)


# The folder by itself


SHIM = """from finn_resnet.deploy.simulated_pynq import SimulatedPynq
_device = SimulatedPynq({project!r})
Overlay, allocate = _device.Overlay, _device.allocate
"""


def run_driver(deployed: Deployed, place: Path, *, pynq: bool) -> subprocess.CompletedProcess:
    """Run the folder's own driver.py as a program, elsewhere."""
    shutil.copytree(deployed.folder, place, dirs_exist_ok=True)
    paths = []
    if pynq:
        shim = place / "shim"
        shim.mkdir(exist_ok=True)
        project = str(deployed.project.directory)
        (shim / "pynq.py").write_text(SHIM.format(project=project))
        paths = [str(shim), str(CHECKOUT)]
    return subprocess.run(
        [sys.executable, "driver.py"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_driver_runs_as_a_program(either, tmp_path):
    done = run_driver(either, tmp_path, pynq=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.startswith("3 frames of test vectors, 0 codes differ")


def test_the_driver_without_pynq_says_so(either, tmp_path):
    done = run_driver(either, tmp_path, pynq=False)
    assert done.returncode == 2
    assert done.stdout == "error: pynq is not installed: run this on a board with a PYNQ image\n"


def _modules(tree: ast.AST) -> set[str]:
    """Top-level names of what a module imports."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    return imported


def test_the_driver_needs_numpy_and_pynq_only():
    imported = _modules(ast.parse(Path(driver_module.__file__).read_text(), feature_version=(3, 8)))
    # host_steps.py lies beside the driver on the board, in the package elsewhere.
    others = imported - set(sys.stdlib_module_names)
    assert others == {"numpy", "pynq", "host_steps", "finn_resnet"}
    steps = ast.parse(Path(host_steps.__file__).read_text(), feature_version=(3, 8))
    assert {name for name in _modules(steps) if name not in sys.stdlib_module_names} == {"numpy"}


def test_the_notebook_runs(either, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(either.folder)
    monkeypatch.syspath_prepend(str(either.folder))
    monkeypatch.setitem(sys.modules, "pynq", SimulatedPynq(either.project.directory))
    monkeypatch.delitem(sys.modules, "driver", raising=False)
    content = json.loads((either.folder / "accelerator.ipynb").read_text())
    assert content["nbformat"] == 4
    names: dict = {}
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"]).replace("frames=1000", "frames=5")
            exec(compile(source, "notebook", "exec"), names)
    assert "3 frames of test vectors, 0 codes differ" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "driver", raising=False)


def test_the_folder_holds_what_the_readme_lists(either):
    names = {path.name for path in either.folder.iterdir()}
    wanted = {"README.md", "driver.py", "accelerator.json", "accelerator.ipynb", "vectors.npz"}
    wanted |= {"host_steps.py", "host"}
    manifest = json.loads((either.folder / "accelerator.json").read_text())
    assert names == wanted | ({"parameters.bin"} if manifest["parameters"] else set())
    readme = (either.folder / "README.md").read_text()
    assert ("load_parameters" in readme) == bool(manifest["parameters"])


def test_a_bitstream_already_there_stays(deployed, tmp_path):
    ultra96 = deployed["Ultra96"]
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "small.bit").write_bytes(b"bits")
    write_deploy_folder(ultra96.model, ultra96.project, load_board("Ultra96"), tmp_path, 214.3)
    assert (tmp_path / "deploy" / "small.bit").read_bytes() == b"bits"
