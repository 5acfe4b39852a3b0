"""Annotated networks the parallelism tests share."""

import pytest

from finn_resnet.boards import load_board
from tests.hardware_graphs import resnet


@pytest.fixture(scope="session")
def small_net():
    """A narrow two-stage network, for searches that must be quick."""
    return resnet(1, widths=(8, 16), size=16)


@pytest.fixture(params=["KV260", "Ultra96"])
def board(request):
    """Both boards."""
    return load_board(request.param)
