"""The recipe end to end on a few random images: train, quantise, export, execute, resume."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train (PyTorch)")
pytest.importorskip("brevitas", reason="needs the extra train (brevitas)")

import torch
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.training import TrainingOptions, train
from finn_resnet.training.batches import TrainingBatches, to_input
from finn_resnet.training.calibration import best_exponent, fold_norm, input_of
from finn_resnet.training.checkpoint import load_checkpoint
from finn_resnet.training.export import (
    differing_codes,
    execute_model,
    export_float,
    export_model,
)
from finn_resnet.training.loop import Schedule
from finn_resnet.training.network import ResNet
from finn_resnet.training.network_shape import NetworkShape
from finn_resnet.training.quantised import make_plan, quantise
from tests.training.random_image_sets import random_images, save_archive


def small_options(data: Path, output: Path, **changes: object) -> TrainingOptions:
    options = TrainingOptions(
        data=data,
        output_dir=output,
        float_epochs=2,
        decay_epochs=1,
        quantised_epochs=1,
        batch_size=32,
        learning_rate=0.02,
        calibration_images=32,
        progress=False,
    )
    return dataclasses.replace(options, **changes)


RESNET8 = NetworkShape()


def trained_like(shape: NetworkShape = RESNET8) -> ResNet:
    """Untrained network whose batch norms have seen data, so that folding does something."""
    torch.manual_seed(shape.depth)
    network = ResNet(shape)
    for _ in range(3):
        network(torch.rand(16, 3, 32, 32))
    return network.eval()


def test_recipe_writes_model_and_card(data_folder: Path, tmp_path: Path) -> None:
    # `train` itself compares the codes of every test image with qonnx's and would raise.
    result = train(small_options(data_folder, tmp_path / "out"))
    assert result.model.name == "resnet8.onnx"
    assert result.model.stat().st_size < 2_000_000
    card = result.card.read_text()
    assert f"{100 * result.quantised_accuracy:.2f} %" in card
    assert "40 images" in card
    assert result.images == 40


def test_float_network_is_written_as_it_was_trained(tmp_path: Path) -> None:
    network = trained_like()
    images = to_input(random_images(6, seed=4).images)
    export_float(network, tmp_path / "float.onnx")
    found = execute_model(ModelWrapper(str(tmp_path / "float.onnx")), images.contiguous().numpy())
    with torch.no_grad():
        np.testing.assert_allclose(found, network(images).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "bits"),
    [
        (RESNET8, 8),
        (NetworkShape.of_depth(14), 8),
        (RESNET8, 4),
        (NetworkShape((2, 1), width=24), 8),
        (NetworkShape((1, 1, 1, 1, 1), width=4), 4),
    ],
)
def test_exported_codes_equal(shape: NetworkShape, bits: int, tmp_path: Path) -> None:
    network = trained_like(shape)
    images = random_images(12, seed=4)
    network = quantise(network, make_plan(network, [to_input(images.images)], bits, bits))
    model = export_model(network, tmp_path / "m.onnx")
    assert differing_codes(network, model, images) == 0


def test_graph_is_what_the_accelerator_takes(tmp_path: Path) -> None:
    network = trained_like()
    network = quantise(network, make_plan(network, [torch.rand(8, 3, 32, 32)], 8, 8))
    model = export_model(network, tmp_path / "m.onnx")
    quants = model.get_nodes_by_op_type("Quant")
    for node in quants:
        scale = model.get_initializer(node.input[1])
        assert scale.size == 1
        assert np.log2(scale.item()) % 1 == 0
        assert model.get_initializer(node.input[2]).item() == 0
    for add in model.get_nodes_by_op_type("Add"):
        producers = sorted(model.find_producer(name).op_type for name in add.input)
        assert producers == ["Conv", "Quant"]
    assert model.get_tensor_shape(model.graph.input[0].name) == [1, 3, 32, 32]


def test_resumed_run_equals_unbroken_run(data_folder: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(small_options(data_folder, whole, threads=1))
    # Same schedule, stopped after the first epoch by cutting its checkpoint there.
    options = small_options(data_folder, broken, threads=1)
    _stop_after_first_epoch(options)
    train(options)
    first, second = (
        load_checkpoint(folder / "resnet8_float.pt", "float", RESNET8).model
        for folder in (whole, broken)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def _stop_after_first_epoch(options: TrainingOptions) -> None:
    from finn_resnet.training import loop

    class Stopped(Exception):
        pass

    def save_and_stop(path: Path, checkpoint: object) -> None:
        original(path, checkpoint)
        raise Stopped

    original = loop.save_checkpoint
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", save_and_stop)
        with pytest.raises(Stopped):
            train(options)


def test_checkpoint_of_another_depth(data_folder: Path, tmp_path: Path) -> None:
    options = small_options(data_folder, tmp_path, quantised_epochs=0)
    train(options)
    (tmp_path / "resnet8_float.pt").rename(tmp_path / "resnet14_float.pt")
    with pytest.raises(UserError, match="is of a resnet8, not of a resnet14"):
        train(dataclasses.replace(options, depth=14))
    (tmp_path / "resnet14_float.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(UserError, match="damaged"):
        train(dataclasses.replace(options, depth=14))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"seed": 2}, "with seed 1, this run has 2"), ({"classes": 3}, "with classes 10")],
)
def test_checkpoint_of_another_run(
    data_folder: Path, tmp_path: Path, changes: dict[str, int], message: str
) -> None:
    options = small_options(data_folder, tmp_path, quantised_epochs=0)
    train(options)
    if "classes" in changes:
        for split, count in (("train", 96), ("test", 40)):
            images = random_images(count, seed=0, classes=changes["classes"])
            save_archive(data_folder / f"random_{split}.npz", images)
        changes = {}
    with pytest.raises(UserError, match=message):
        train(dataclasses.replace(options, **changes))


def test_fine_tuning_of_an_earlier_float_network_is_not_taken_for_that_of_a_later_one(
    data_folder: Path, tmp_path: Path
) -> None:
    options = small_options(data_folder, tmp_path)
    first = train(options)
    assert train(options).quantised_accuracy == first.quantised_accuracy
    with pytest.raises(UserError, match=r"resnet8_quantised\.pt was fine-tuned from another float"):
        train(dataclasses.replace(options, float_epochs=3))


def test_output_folder_that_cannot_be_created(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be created"):
        train(small_options(data_folder, tmp_path / "file" / "out"))


def test_distillation_from_another_depth(data_folder: Path, tmp_path: Path) -> None:
    train(small_options(data_folder, tmp_path, depth=14, quantised_epochs=0))
    teacher = tmp_path / "resnet14_float.pt"
    result = train(small_options(data_folder, tmp_path, teacher=teacher))
    assert "distilled from resnet14" in result.card.read_text()
    with pytest.raises(UserError, match="does not exist"):
        train(small_options(data_folder, tmp_path, teacher=tmp_path / "absent.pt"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 10}, "not of the form 6n"),
        ({"blocks": (1, 0)}, "at least 1"),
        ({"blocks": (1,) * 6}, "1 to 5 numbers"),
        ({"width": 0}, "below 1 channel"),
        ({"weight_bits": 9}, "outside 2 to 8"),
        ({"decay_epochs": 3}, "must lie between"),
        ({"batch_size": 1}, "below 2"),
        ({"plateau_crop": 30}, "multiple of 4"),
        ({"learning_rate": 1e9}, "diverged"),
    ],
)
def test_impossible_options(
    data_folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        train(small_options(data_folder, tmp_path, **changes))


def test_schedule_rises_stays_and_falls() -> None:
    schedule = Schedule(peak=0.1, epochs=10, decay_epochs=4, warmup_epochs=2)
    rates = [schedule.rate(epoch) for epoch in (0, 1, 2, 6, 8, 10)]
    np.testing.assert_allclose(rates, [0, 0.05, 0.1, 0.1, 0.05, 0])


def test_small_crops_first() -> None:
    batches = TrainingBatches(random_images(8, seed=5), 4, 1, small_crop=24, small_crop_epochs=2)
    sizes = [next(batches.epoch(epoch))[0].shape[2:] for epoch in (0, 1, 2)]
    assert sizes == [(24, 24), (24, 24), (32, 32)]


def test_shapes() -> None:
    assert len(NetworkShape.of_depth(20).block_shapes()) == 9
    assert RESNET8.block_shapes() == [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
    assert NetworkShape((2, 1), 24).block_shapes() == [(24, 24, 1), (24, 24, 1), (24, 48, 2)]
    names = [NetworkShape.of_depth(20).name, NetworkShape((2, 1), 24).name]
    assert names == ["resnet20", "resnet8_2-1_c24"]


def test_names_of_calibration_points() -> None:
    assert input_of("blocks.0.first") == "relu"
    assert input_of("blocks.2.downsample") == "blocks.1.relu"


def test_folded_convolution_equals_the_pair() -> None:
    pair = trained_like().blocks[1].first
    image = torch.rand(2, 16, 32, 32)
    weight, bias = fold_norm(pair)
    folded = torch.nn.functional.conv2d(image, weight, bias, stride=2, padding=1)
    torch.testing.assert_close(folded, pair(image), rtol=1e-4, atol=1e-4)


def test_best_exponent_trades_clipping_for_resolution() -> None:
    assert best_exponent(torch.linspace(0, 1, 1000), 0, 255) == -8
    outlier = torch.cat([torch.linspace(0, 1, 100_000), torch.tensor([2.0])])
    assert best_exponent(outlier, 0, 15) == -4


def test_augmentation_is_drawn_per_image_and_repeatable() -> None:
    images = random_images(8, seed=5)
    batches = TrainingBatches(images, 8, seed=1)
    (first, _), (again, _), (other, _) = (next(batches.epoch(epoch)) for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
