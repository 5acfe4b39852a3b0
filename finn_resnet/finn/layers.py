"""The FINN ops of all our hardware nodes, registered in FINN's own domains.

FINN looks for layers nowhere else: SpecializeLayers takes ``StreamConv`` of the domain
``finn.custom_op.fpgadataflow`` and makes it ``StreamConv_hls`` of that domain's ``.hls``.
Importing this module imports FINN; `register` puts the layers there, in every process that needs
them.
"""

from __future__ import annotations

from types import ModuleType

from finn.custom_op import fpgadataflow
from finn.custom_op.fpgadataflow import hls

from finn_resnet.custom_ops import custom_op
from finn_resnet.custom_ops.base import HardwareOp, SearchRole
from finn_resnet.finn.hls_layer import HlsLayer
from finn_resnet.finn.layer import HardwareLayer
from finn_resnet.finn.plain_node import HLS_SUFFIX

_registered: set[str] = set()
LAYER_DOMAIN = "finn.custom_op.fpgadataflow"
"""FINN's domain of layers that are not yet HLS or RTL."""


def layer_ops() -> set[str]:
    """Hardware nodes that become FINN layers; host nodes stay with the driver."""
    return {name for name, op in custom_op.items() if op.role is not SearchRole.HOST}


def register() -> None:
    """Make our layers known to FINN; once done, only operators that are new since are added."""
    for name in layer_ops() - _registered:
        _add(fpgadataflow, _layer_class(HardwareLayer, custom_op[name]))
        _add(hls, _layer_class(HlsLayer, custom_op[name], HLS_SUFFIX))
        _registered.add(name)


def _add(module: ModuleType, layer: type[HardwareLayer]) -> None:
    if hasattr(module, "register_custom_op"):
        module.register_custom_op(layer)
    else:
        # FINN releases before the decorator.
        module.custom_op[layer.__name__] = layer


def _layer_class(base: type[HardwareLayer], plain: type[HardwareOp], suffix: str = "") -> type:
    name = plain.__name__ + suffix
    members = {"plain_class": plain, "__doc__": plain.__doc__, "__module__": __name__}
    return type(name, (base,), members)
