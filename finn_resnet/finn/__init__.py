"""Our hardware nodes and build flow inside FINN (finn-plus, extra `finn`).

`finn_resnet.finn.steps` holds the steps of a FINN build, which register our layers with FINN;
`register` does so for a script that reads a graph with such layers. Nothing here imports FINN
before one of them runs, and nothing else in `finn_resnet` imports this package.
"""

from finn_resnet.finn.availability import require_finn


def register() -> None:
    """Make our layers known to FINN, in its domains `finn.custom_op.fpgadataflow` and `.hls`.

    Raises:
        UserError: FINN is missing or broken.
    """
    require_finn()
    from finn_resnet.finn.layers import register as register_layers

    register_layers()
