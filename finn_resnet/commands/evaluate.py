"""`finn-resnet evaluate`: accuracy of a model and of its C++ on labelled images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from finn_resnet.commands.terminal import (
    COUNT,
    cpp_faults,
    display,
    display_options,
    fail_result,
    verification_exit,
)
from finn_resnet.errors import UserError

if TYPE_CHECKING:
    from finn_resnet.evaluation.evaluate import Evaluation


class _ImageCount(click.ParamType):
    """A number of images; a path is most likely meant for --data."""

    name = "N"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, at least 1. Raises UserError for anything else."""
        if not str(value).lstrip("-").isdigit():
            raise UserError(
                f"--images {value!r} is no number; give the image set as --data {value}, and as "
                "--images how many of its images to take"
            )
        return COUNT.convert(value, param, ctx)


@click.command()
@click.argument("model", metavar="MODEL|OUTPUT_DIR")
@click.option(
    "--data",
    metavar="PATH",
    required=True,
    help="Labelled data set: CIFAR-10 python batches, a folder for each class, or an .npz.",
)
@click.option("--images", type=_ImageCount(), help="Number of images, from the start.  [all]")
@click.option(
    "--float-model",
    type=click.Path(path_type=Path),
    help="ONNX file of the float network MODEL was made of, to be measured too.",
)
@click.option(
    "--confusion",
    type=click.Path(path_type=Path),
    help="Picture of the confusion matrix (.svg, .png, .pdf).  "
    "[confusion_MODEL.svg, OUTPUT_DIR/confusion.svg]",
)
@click.option(
    "--card",
    type=click.Path(path_type=Path),
    help="Model card to write the accelerator's accuracy into.",
)
@click.option("--workers", type=COUNT, help="Parallel processes.  [all cores]")
@display_options
def evaluate(
    model: str,
    data: str,
    images: int | None,
    as_json: bool,
    float_model: Path | None,
    confusion: Path | None,
    card: Path | None,
    workers: int | None,
    **chosen_display: bool,
) -> int:
    """Measure the accuracy of a model and of its accelerator on labelled images.

    MODEL is a QONNX file or the name of a shipped model: its C++ is generated, compiled and run.
    OUTPUT_DIR is that of a build, whose C++ is taken as it lies there. The label and every
    quantised tensor of the C++ are compared with the execution of the QONNX file; the exit code is
    1 where a code differs.

    A QONNX file does not hold the float network it was made of: float accuracy is measured where
    --float-model gives that network (finn-resnet train writes it beside the model).

    Of a data set with a training and a test split the test split is taken. Pictures are scaled to
    pixel / 255; a model that takes them normalised is built first, with input_mean and input_std.
    """
    from finn_resnet.evaluation.batches import cores
    from finn_resnet.evaluation.confusion import check_picture
    from finn_resnet.evaluation.evaluate import evaluate as evaluate_source
    from finn_resnet.training.model_card import check_card

    picture = confusion or _default_picture(model)
    check_picture(picture)
    if card is not None:
        check_card(card, images)
    try:
        with display(**chosen_display):
            result = evaluate_source(model, data, images, float_model, workers or cores())
    except cpp_faults() as fault:
        return fail_result(str(fault))
    quiet = chosen_display["quiet"]
    if as_json:
        click.echo(json.dumps(result.as_dict()))
    elif not quiet:
        click.echo("\n".join(_lines(result)))
    said = _draw(result, f"{Path(model).stem}, {result.images:,} images", picture)
    if not quiet:
        click.echo(said, err=as_json)
    return _conclude(result, card)


def _conclude(result: Evaluation, card: Path | None) -> int:
    """Write the card, unless the C++ is wrong; the exit code."""
    from finn_resnet.training.model_card import write_accelerator_accuracy

    failure = result.verification.failure
    if failure is not None and not result.may_change_codes:
        return verification_exit(failure)
    if card is not None:
        write_accelerator_accuracy(card, result.accuracy["accelerator"], result.images)
    return 0


def _default_picture(model: str) -> Path:
    from finn_resnet.evaluation.subject import is_build

    name = "confusion.svg"
    return Path(model) / name if is_build(model) else Path(f"confusion_{Path(model).stem}.svg")


def _draw(result: Evaluation, title: str, path: Path) -> str:
    """Draw the confusion matrix where matplotlib is there; a line that says where it is."""
    from importlib.util import find_spec

    from finn_resnet.evaluation.confusion import draw_confusion

    if find_spec("matplotlib") is None:
        return "no picture of the confusion matrix: pip install 'finn_resnet[plot]' draws one"
    draw_confusion(result.confusion, result.classes, title, path)
    return f"confusion matrix: {path}"


_NAMES = {"float": "float", "qonnx": "QONNX", "accelerator": "accelerator"}


def _lines(result: Evaluation) -> list[str]:
    from finn_resnet.report.verification_line import DEFINITIONS

    lines = [
        f"{_NAMES[name]:12}{100 * share:6.2f} %  {result.images_per_s_each[name]:8.1f} images/s"
        for name, share in result.accuracy.items()
    ]
    found = result.verification
    lines += [
        f"{found.mismatched_labels:,} of {found.images:,} labels and {found.mismatched_codes:,} of "
        f"{found.compared_codes:,} codes of the C++ differ from {DEFINITIONS[found.definition]}",
        f"{result.images_per_s:.1f} images/s in all; those above are of one process",
    ]
    if result.may_change_codes:
        lines.append("the build was asked for a form of the addition that changes codes")
    return lines
