"""MobileNetV1: what full convolutions in place of its depthwise ones could not do."""

from __future__ import annotations

import pytest

from finn_resnet.boards import load_board
from finn_resnet.importing import load_model
from finn_resnet.parallelism import AnnotateParallelism
from finn_resnet.parallelism.estimate import estimate
from finn_resnet.transformation import FuseRequantChains, LowerToHardware


@pytest.mark.slow
def test_it_takes_a_pixel_a_cycle_on_a_kv260(shared_models) -> None:
    model = load_model(shared_models / "mobilenet_v1_vww_qcdq.onnx")
    hardware = model.transform(LowerToHardware()).transform(FuseRequantChains())
    assert len(hardware.get_nodes_by_op_type("StreamGroupedConv")) == 12
    board = load_board("KV260")
    found = estimate(hardware.transform(AnnotateParallelism(board)), board)
    assert found.cycles_per_frame <= 128 * 128
    assert found.totals.fits(board.budget)
    assert found.totals.dsp < board.budget.dsp / 4
