"""Accuracy and agreement of float network, QONNX and C++ on a small network and a labelled set."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx

from finn_resnet.build import build
from finn_resnet.cli import run
from finn_resnet.config import BuildConfig
from finn_resnet.evaluation.batches import run_batches
from finn_resnet.evaluation.evaluate import evaluate
from finn_resnet.evaluation.subject import opened_build
from finn_resnet.importing import TidyQonnx, load_model
from finn_resnet.importing.quantiser import is_quant
from finn_resnet.training.model_card import CardFacts, MeasuredAccuracy, write_card
from finn_resnet.training.network_shape import NetworkShape
from finn_resnet.verification.images import float_input
from tests.qonnx_models import residual_network

COUNT = 60
CLASSES = 5
CODE_STEPS = [
    "step_lower_to_hardware",
    "step_fuse_requant_chains",
    "step_absorb_add",
    "step_set_stream_depths",
    "step_generate",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    residual_network(seed=6).save(str(path))
    return str(path)


@pytest.fixture(scope="module")
def float_model(model, tmp_path_factory) -> Path:
    """The network of `model` with no quantiser left."""
    network = load_model(model)
    for node in [node for node in network.graph.node if is_quant(node)]:
        value = network.get_initializer(node.input[0])
        if value is not None:
            network.set_initializer(node.output[0], value)
            network.graph.node.remove(node)
        else:
            del node.input[1:]
            del node.attribute[:]
            node.op_type, node.domain = "Identity", ""
    path = tmp_path_factory.mktemp("float") / "float.onnx"
    network.save(str(path))
    return path


def labels_of(model: ModelWrapper, images: np.ndarray) -> np.ndarray:
    """Labels by qonnx, one picture at a time."""
    name = model.graph.input[0].name
    outputs = [
        next(iter(execute_onnx(model, {name: picture[None]}).values()))
        for picture in float_input(images)
    ]
    return np.array([int(output.argmax()) for output in outputs])


@pytest.fixture(scope="module")
def data(model, tmp_path_factory) -> Path:
    """A set whose labels are the network's own, but for those of images 5 and 40."""
    rng = np.random.default_rng(3)
    # Pictures of one colour each, with holes: random pixels alone all get the same label.
    colours, holes = rng.integers(0, 256, (COUNT, 1, 1, 3)), rng.integers(0, 2, (COUNT, 8, 8, 3))
    images = (colours * holes).astype(np.uint8)
    labels = labels_of(residual_network(seed=6).transform(TidyQonnx()), images)
    assert len(set(labels)) > 1
    labels[[5, 40]] = (labels[[5, 40]] + 1) % CLASSES
    path = tmp_path_factory.mktemp("data") / "small_test.npz"
    np.savez(path, images=images, labels=labels)
    return path


@pytest.fixture(scope="module")
def built(model, cxx, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "out"
    build(BuildConfig(model, "KV260", output_dir=str(folder), steps=CODE_STEPS))
    return folder


@pytest.fixture
def copy(built, tmp_path) -> Path:
    """A copy of the finished build to change."""
    return Path(shutil.copytree(built, tmp_path / "copy"))


@pytest.fixture
def card(tmp_path) -> Path:
    """A card whose accuracies were measured on the whole set."""
    path = tmp_path / "net.md"
    facts = CardFacts("net", NetworkShape(), 8, 8, 1, "random images", ("step",))
    write_card(path, facts, MeasuredAccuracy("random images", COUNT, 0.5, 0.6))
    return path


def test_json_gives_every_figure(model, cxx, data, float_model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["--data", str(data.parent), "--float-model", str(float_model), "--workers", "2"]
    assert run(["evaluate", model, *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["images"] == COUNT
    assert result["accuracy"]["qonnx"] == result["accuracy"]["accelerator"] == 58 / COUNT
    with np.load(data) as archive:
        found = labels_of(ModelWrapper(str(float_model)), archive["images"])
        assert result["accuracy"]["float"] == pytest.approx((found == archive["labels"]).mean())
    assert result["mismatched_labels"] == result["mismatched_codes"] == 0
    assert result["compared_codes"] % COUNT == 0 and result["compared_codes"] > 1000 * COUNT
    assert result["images_per_s"] > 0
    assert set(result["images_per_s_each"]) == {"float", "qonnx", "accelerator"}
    confusion = np.array(result["confusion"])
    assert confusion.shape == (CLASSES, CLASSES)
    assert confusion.sum() == COUNT and confusion.trace() == 58
    assert "evaluate" in err


def test_a_build_is_evaluated_as_it_lies_there(built, data, card, capsys):
    assert run(["evaluate", str(built), "--data", str(data), "--card", str(card)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"accelerator +96\.67 %", out)
    assert f"0 of {COUNT} labels and 0 of " in out
    assert "| accelerator (generated C++) | 96.67 % |" in card.read_text()


def test_a_weight_changed_by_one_is_found(copy, data, card, capsys):
    weights = copy / "hls" / "weights" / "conv25_weights.inc"
    text = weights.read_text()
    first = re.search(r"-?\d+", text)
    changed = int(first.group()) - 1 if int(first.group()) > 0 else int(first.group()) + 1
    weights.write_text(text[: first.start()] + str(changed) + text[first.end() :])
    before = card.read_text()
    assert run(["evaluate", str(copy), "--data", str(data), "--json", "--card", str(card)]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["mismatched_codes"] > 0
    assert "failed: " in err and "task conv25" in err
    assert card.read_text() == before, "the accuracy of wrong C++ is no figure for a card"


def test_cpp_that_does_not_compile_is_a_failed_result(copy, data, capsys):
    (copy / "hls" / "weights" / "conv25_weights.inc").write_text("no numbers")
    assert run(["evaluate", str(copy), "--data", str(data), "-q"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("failed: the C++ does not compile") and err.count("\n") == 1


def test_asked_for_changes_of_codes_are_counted_but_no_failure(model, cxx, data, tmp_path, capsys):
    config = BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), steps=CODE_STEPS)
    build(config.replace(optimisations={"absorb_add": "accumulator"}))
    assert run(["evaluate", str(tmp_path / "out"), "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mismatched_codes"] > 0


def test_the_first_images_alone(built, data):
    result = evaluate(str(built), data, count=6)
    assert result.images == 6
    assert result.accuracy == {"qonnx": 5 / 6, "accelerator": 5 / 6}


def test_processes_find_the_same_codes_in_the_same_order(copy, data):
    weights = copy / "hls" / "weights" / "conv25_weights.inc"
    weights.write_text(re.sub(r"\d+", "1", weights.read_text()))
    with np.load(data) as archive:
        images = archive["images"]
    with opened_build(str(copy)) as build_:
        alone, shared = (list(run_batches(build_, images, workers=n)) for n in (1, 2))
    assert [result.verification.images for result in shared] == [25, 25, 10]
    for one, other in zip(alone, shared, strict=True):
        assert one.verification.mismatches == other.verification.mismatches
        assert one.verification.first_mismatch == other.verification.first_mismatch
        for name in ("reference_labels", "accelerator_labels"):
            labels = [getattr(result.verification, name) for result in (one, other)]
            np.testing.assert_array_equal(*labels)
    assert any(result.verification.mismatched_codes for result in alone)


def refused(capsys, *arguments: str) -> str:
    """Run an evaluation that must be refused in one line with exit code 2; return the line."""
    assert run(["evaluate", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1, err
    return err


def test_a_missing_or_half_data_set_is_refused(model, data, tmp_path, capsys):
    assert "does not exist" in refused(capsys, model, "--data", tmp_path / "none")
    assert "holds no test set" in refused(capsys, model, "--data", tmp_path)
    (tmp_path / "data_batch_1").write_bytes(b"")
    assert "test_batch missing" in refused(capsys, model, "--data", tmp_path)
    half = tmp_path / "half.npz"
    half.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    assert "cannot be read" in refused(capsys, model, "--data", half)
    with np.load(data) as archive:
        images, labels = archive["images"], archive["labels"]
    np.savez(half, images=images[:30], labels=labels)
    assert "30 images but 60 labels" in refused(capsys, model, "--data", half)
    np.savez(half, images=images)
    assert "holds no labels" in refused(capsys, model, "--data", half)
    wanted = refused(capsys, model, "--data", data, "--images", 61)
    assert "holds 60 test images, 61 are wanted" in wanted


def test_images_of_another_size_and_unknown_labels_are_refused(model, tmp_path, capsys):
    path = tmp_path / "set.npz"
    np.savez(path, images=np.zeros((2, 8, 9, 3), np.uint8), labels=np.zeros(2, int))
    assert "(8, 9, 3), the network takes (8, 8, 3)" in refused(capsys, model, "--data", path)
    np.savez(path, images=np.zeros((2, 8, 8, 3), np.uint8), labels=np.array([0, CLASSES]))
    assert "label 5 is none of the network's 5" in refused(capsys, model, "--data", path)


def test_a_path_as_the_number_of_images_is_explained(model, data, capsys):
    line = refused(capsys, model, "--images", data)
    assert f"--data {data}" in line
    assert "is not in the range" in refused(capsys, model, "--data", data, "--images", 0)


def test_other_bad_input_is_refused_in_one_line(model, data, card, tmp_path, capsys):
    assert "no shipped model" in refused(capsys, "resnet9", "--data", data)
    (tmp_path / "empty").mkdir()
    assert "report.json" in refused(capsys, tmp_path / "empty", "--data", data)
    assert ".svg" in refused(capsys, model, "--data", data, "--confusion", "a.txt")
    missing = tmp_path / "none" / "a.svg"
    assert "does not exist" in refused(capsys, model, "--data", data, "--confusion", missing)
    assert "holds quantisers" in refused(capsys, model, "--data", data, "--float-model", model)
    few = ["--data", data, "--images", 6]
    assert "accuracies on 60 images" in refused(capsys, model, *few, "--card", card)
    card.write_text("# no card\n")
    assert "is no model card" in refused(capsys, model, *few, "--card", card)


def test_a_float_network_of_another_size_is_refused(float_model, data, tmp_path, capsys):
    other = tmp_path / "other.onnx"
    residual_network(size=16).save(str(other))
    larger = np.zeros((2, 16, 16, 3), np.uint8)
    np.savez(tmp_path / "set.npz", images=larger, labels=np.zeros(2, int))
    arguments = [other, "--data", tmp_path / "set.npz", "--float-model", float_model]
    assert "takes pictures (3, 8, 8)" in refused(capsys, *arguments)
