"""The whole recipe: train the float network, merge, calibrate, fine-tune, export, describe."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.training.batches import EVALUATION_BATCH, TrainingBatches, accuracy, to_input
from finn_resnet.training.checkpoint import fingerprint, load_checkpoint
from finn_resnet.training.data import SPLITS, LabelledImages, load_split
from finn_resnet.training.export import differing_codes, export_float, export_model
from finn_resnet.training.loop import Loss, Schedule, Stage
from finn_resnet.training.losses import DistillationLoss, label_loss
from finn_resnet.training.model_card import CardFacts, MeasuredAccuracy, write_card
from finn_resnet.training.network import IMAGE_SIZE, ResNet
from finn_resnet.training.options import TrainingOptions
from finn_resnet.training.quantised import QuantisationPlan, QuantisedResNet, make_plan, quantise

WARMUP_EPOCHS = 2.0


@dataclass(frozen=True)
class TrainingResult:
    """The files of a run and its accuracies (0 to 1) on the test split of `images` images."""

    model: Path
    float_model: Path
    card: Path
    images: int
    float_accuracy: float
    quantised_accuracy: float


def run_recipe(options: TrainingOptions) -> TrainingResult:
    """Trains, quantises and exports one network; an interrupted run goes on where it stopped.

    Writes `<name>.onnx`, its card `<name>.md`, the float network `<shape>_float.onnx` and the
    checkpoints into `options.output_dir`. Raises UserError when the data set, a checkpoint, the
    folder or an option does not fit.
    """
    torch.manual_seed(options.seed)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    _make_folder(options.output_dir)
    train_set, test_set = (load_split(options.data, split, IMAGE_SIZE) for split in SPLITS)
    if train_set.classes != test_set.classes:
        raise UserError(f"{options.data}: training and test set have different classes")
    plateau_epochs = options.float_epochs - options.decay_epochs
    float_batches = TrainingBatches(
        train_set, options.batch_size, options.seed, options.plateau_crop, plateau_epochs
    )
    batches = TrainingBatches(train_set, options.batch_size, options.seed)
    loss = _loss(options, len(train_set.classes))

    network, float_accuracy = train_float(options, float_batches, test_set, loss)
    quantised, quantised_accuracy = train_quantised(
        options, network, batches, train_set, test_set, loss
    )
    float_model = float_checkpoint(options).with_suffix(".onnx")
    export_float(network, float_model)
    model = options.output_dir / f"{options.name}.onnx"
    graph = export_model(quantised, model)
    check_export(quantised, graph, test_set)
    card = model.with_suffix(".md")
    measured = MeasuredAccuracy(
        str(options.data.name), len(test_set), float_accuracy, quantised_accuracy
    )
    write_card(card, _facts(options), measured)
    return TrainingResult(
        model, float_model, card, len(test_set), float_accuracy, quantised_accuracy
    )


def train_float(
    options: TrainingOptions, batches: TrainingBatches, test: LabelledImages, loss: Loss
) -> tuple[ResNet, float]:
    """The trained float network and its test accuracy. Raises UserError as `Stage.run`."""
    network = ResNet(options.shape, len(test.classes))
    stage = Stage(
        name="float",
        network=network,
        shape=options.shape,
        classes=len(test.classes),
        schedule=Schedule(
            options.learning_rate,
            options.float_epochs,
            options.decay_epochs,
            min(WARMUP_EPOCHS, options.float_epochs / 4),
        ),
        loss=loss,
        weight_decay=options.weight_decay,
        checkpoint_path=float_checkpoint(options),
        bf16=options.bf16,
        progress=options.progress,
    )
    return network, stage.run(batches, test)


def train_quantised(
    options: TrainingOptions,
    network: ResNet,
    batches: TrainingBatches,
    train_set: LabelledImages,
    test: LabelledImages,
    loss: Loss,
) -> tuple[QuantisedResNet, float]:
    """The fine-tuned quantised network and its test accuracy. Raises UserError as `Stage.run`."""
    path = options.output_dir / f"{options.name}_quantised.pt"
    if path.exists():
        plan = QuantisationPlan(**load_checkpoint(path, "quantised", options.shape).extra)
    else:
        plan = make_plan(
            network,
            calibration_batches(train_set, options.calibration_images, options.seed),
            options.weight_bits,
            options.activation_bits,
        )
    quantised = quantise(network, plan)
    if options.quantised_epochs == 0:
        return quantised, accuracy(quantised, test)
    stage = Stage(
        name="quantised",
        network=quantised,
        shape=options.shape,
        classes=network.classes,
        schedule=Schedule(
            options.quantised_learning_rate, options.quantised_epochs, options.quantised_epochs
        ),
        loss=loss,
        weight_decay=options.weight_decay,
        checkpoint_path=path,
        bf16=options.bf16,
        progress=options.progress,
        extra=asdict(plan),
        base=fingerprint(network),
    )
    return quantised, stage.run(batches, test)


def calibration_batches(images: LabelledImages, count: int, seed: int) -> list[torch.Tensor]:
    """`count` images drawn without repetition, as network inputs in batches."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(images))[:count]
    return list(to_input(images.images[chosen]).split(EVALUATION_BATCH))


def check_export(network: QuantisedResNet, graph: ModelWrapper, test: LabelledImages) -> None:
    """Raises RuntimeError unless qonnx computes the codes PyTorch does on every test image."""
    differing = differing_codes(network, graph, test)
    if differing:
        raise RuntimeError(f"the exported graph differs from the network in {differing} logits")


def float_checkpoint(options: TrainingOptions) -> Path:
    """Where a run keeps its float network; runs of other bit widths share it."""
    return options.output_dir / f"{options.shape.name}_float.pt"


def _make_folder(folder: Path) -> None:
    """Before hours of training, not after the first epoch."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UserError(
            f"output folder '{folder}' cannot be created: {fault.strerror}; give another folder"
        ) from fault


def _loss(options: TrainingOptions, classes: int) -> Loss:
    if options.teacher is None:
        return label_loss
    return DistillationLoss(load_teacher(options.teacher, classes))


def load_teacher(path: Path, classes: int) -> ResNet:
    """Float network of any shape from its checkpoint. Raises UserError when it does not fit."""
    checkpoint = load_checkpoint(path, "float")
    if checkpoint.classes != classes:
        raise UserError(f"teacher {path} knows {checkpoint.classes} classes, the data {classes}")
    teacher = ResNet(checkpoint.shape, classes)
    teacher.load_state_dict(checkpoint.model)
    return teacher


def _facts(options: TrainingOptions) -> CardFacts:
    quantisation = "batch norms merged, power-of-two scales of least squared error"
    finetuning = (
        f"{quantisation}, then {options.quantised_epochs} epochs of quantisation-aware SGD, "
        f"learning rate {options.quantised_learning_rate:g} falling linearly to zero"
    )
    distilled = "" if options.teacher is None else f", distilled from {options.teacher.stem}"
    small_crops = (
        f", {options.plateau_crop}x{options.plateau_crop} crops while the rate was constant"
        if options.plateau_crop < IMAGE_SIZE
        else ""
    )
    return CardFacts(
        name=options.name,
        shape=options.shape,
        weight_bits=options.weight_bits,
        activation_bits=options.activation_bits,
        seed=options.seed,
        training_data=f"train split of {options.data.name}",
        recipe=(
            f"float: {options.float_epochs} epochs of SGD (Nesterov momentum 0.9, batch "
            f"{options.batch_size}, weight decay {options.weight_decay:g}), learning rate "
            f"{options.learning_rate:g}, falling linearly to zero over the last "
            f"{options.decay_epochs}; random flips, random crops of the image padded by 4 pixels"
            f"{small_crops}{distilled}",
            finetuning if options.quantised_epochs else quantisation,
            "QONNX export by brevitas, clean-up by qonnx",
        ),
    )
