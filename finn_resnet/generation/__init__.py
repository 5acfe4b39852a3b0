"""From hardware graph to C++ project; importing it registers the generators of our operators."""

from finn_resnet.generation import (  # noqa: F401
    conv_code,
    dma_code,
    elementwise_code,
    grouped_conv_code,
    parameter_code,
    pool_code,
    resize_code,
    window_code,
)
