"""`finn-resnet evaluate`: accuracy of a model."""

from __future__ import annotations

import click

from finn_resnet.commands.terminal import COUNT, display, display_options


@click.command()
@click.argument("model")
@click.option("--images", metavar="PATH", required=True, help="Labelled image set.")
@click.option("--num", type=COUNT, help="Number of images.  [all]")
@display_options
def evaluate(model: str, images: str, num: int | None, **chosen_display: bool) -> None:
    """Measure the accuracy of a quantised model on labelled images.

    MODEL is a QONNX file or the name of a shipped model. It is executed exactly; an accelerator
    that is verified against it has this accuracy.
    """
    from finn_resnet.evaluate import evaluate as evaluate_model
    from finn_resnet.importing import load_model
    from finn_resnet.model_source import find_model

    with display(**chosen_display) as shown:
        shown.begin("evaluate", 1, 1)
        result = evaluate_model(load_model(find_model(model)), images, num)
    click.echo(
        f"{100 * result.accuracy:.2f} % of {result.images:,} images ({result.correct:,} correct, "
        f"executed in {result.precision})"
    )
