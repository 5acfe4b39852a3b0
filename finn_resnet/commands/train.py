"""`finn-resnet train`: from images to a quantised model and its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from finn_resnet.commands.terminal import COUNT, display_options, print_json, silence_libraries
from finn_resnet.training.options import TrainingOptions

_FOLDER = click.Path(path_type=Path)
_RATE = click.FloatRange(min=0, min_open=True)


class _Blocks(click.ParamType):
    """`2,2,2`: one number for each stage."""

    name = "n,n,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """See class."""
        try:
            return tuple(int(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not of the form 2,2,2", param, ctx)


# Field of TrainingOptions -> (type of the option, what it says); the defaults are the fields' own.
_OPTIONS: dict[str, tuple[Any, str]] = {
    "depth": (int, "Depth of the network: 8, 14, 20, ... (6n+2), three equal stages."),
    "blocks": (_Blocks(), "Residual blocks of every stage, in place of --depth."),
    "width": (COUNT, "Channels of the first stage; every later one doubles them."),
    "float_epochs": (COUNT, "Epochs of the float network."),
    "decay_epochs": (
        COUNT,
        "Last float epochs, in which the learning rate falls to zero.  [20, at most all]",
    ),
    "quantised_epochs": (click.IntRange(min=0), "Epochs of fine-tuning with quantisers."),
    "batch_size": (COUNT, "Images per step."),
    "learning_rate": (_RATE, "Learning rate of the float network."),
    "quantised_learning_rate": (_RATE, "Learning rate of the fine-tuning, falling to zero."),
    "weight_decay": (click.FloatRange(min=0), "Weight decay."),
    "weight_bits": (int, "Bits of the weights; those of first and last layer stay 8."),
    "activation_bits": (int, "Bits of the activations; those at the network's ends stay 8."),
    "calibration_images": (COUNT, "Training images the scales are chosen on."),
    "plateau_crop": (int, "Side of the crops before the decay epochs; 24 saves 44 % of the time."),
    "seed": (click.IntRange(min=0), "Seed of everything random."),
    "threads": (COUNT, "Threads of PyTorch.  [all cores]"),
    "teacher": (_FOLDER, "Float checkpoint of a larger network to distil from."),
}


def _training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, (kind, text) in reversed(_OPTIONS.items()):
        default = getattr(TrainingOptions, name)
        flag = "--" + name.replace("_", "-")
        shown = default is not None
        option = click.option(flag, type=kind, default=default, show_default=shown, help=text)
        command = option(command)
    return command


@click.command()
@click.option(
    "--data",
    type=_FOLDER,
    required=True,
    metavar="PATH",
    help="Folder with a training and a test split.",
)
@click.option("--output-dir", type=_FOLDER, help="Folder to write.  [training_NETWORK]")
@_training_options
@click.option("--bf16", is_flag=True, help="Train in bfloat16: faster on processors that have it.")
@display_options
def train(
    data: Path,
    output_dir: Path | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a quantised CIFAR-type ResNet and export it as QONNX (extra `train`).

    \b
    1. float training: SGD, learning rate constant, then falling; random crops and flips
    2. batch norms merged into the convolutions, a power-of-two scale for every tensor
    3. fine-tuning with the quantisers in place
    4. QONNX export, checked code by code against PyTorch on the test split

    PATH holds CIFAR-10's python batches, train/CLASS/ and test/CLASS/ folders of pictures, or two
    archives *train*.npz and *test*.npz; pictures are 32x32 RGB. Written are the model, its card,
    the float network (.onnx) and a checkpoint after every epoch. A run that was stopped goes on
    where it stopped when the same command is given again.
    """
    from finn_resnet.training import train as run_training

    silence_libraries(verbose)
    training_options = TrainingOptions(
        data=data, output_dir=output_dir or Path(), progress=not quiet, **options
    )
    folder = output_dir or Path(f"training_{training_options.shape.name}")
    result = run_training(replace(training_options, output_dir=folder))
    if as_json:
        print_json({name: _plain(value) for name, value in vars(result).items()})
        return
    if quiet:
        return
    click.echo(
        f"{result.model}: {100 * result.quantised_accuracy:.2f} % of {result.images:,} test images "
        f"(float network {100 * result.float_accuracy:.2f} %)"
    )
    click.echo(
        f"measure its accelerator: finn-resnet evaluate {result.model} --data {data} "
        f"--float-model {result.float_model} --card {result.card}"
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
