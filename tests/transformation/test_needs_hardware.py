"""A transformation of hardware nodes says so when there are none, instead of doing nothing."""

from __future__ import annotations

import pytest

from finn_resnet.errors import UserError
from finn_resnet.importing import load_model
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    InsertWidthAdapters,
    MergeDownsampleLoop,
    SetStreamDepths,
)


@pytest.mark.parametrize(
    "transformation",
    [
        AbsorbAddIntoAccumulator(),
        ForwardWindowBuffer(),
        FuseRequantChains(),
        InsertWidthAdapters(),
        MergeDownsampleLoop(),
        SetStreamDepths(),
    ],
    ids=lambda transformation: type(transformation).__name__,
)
def test_a_graph_that_was_not_lowered_is_refused(transformation):
    name = type(transformation).__name__
    with pytest.raises(UserError, match=f"^{name} acts on hardware nodes.*LowerToHardware first"):
        load_model("resnet8").transform(transformation)
