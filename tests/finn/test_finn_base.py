"""Our graph edits on the ModelWrapper of finn-base, where that is installed."""

from __future__ import annotations

import os
import subprocess

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.importing import TidyQonnx
from finn_resnet.transformation import FuseRequantChains, LowerToHardware
from tests.finn.conftest import CHECKOUT, python_with
from tests.qonnx_models import residual_network

EDITS = """
import sys
from finn_resnet.parallelism import ApplyFolding
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator, ForwardWindowBuffer, MergeDownsampleLoop, SetStreamDepths
)
if sys.argv[1] == "finn-base":
    from finn.core.modelwrapper import ModelWrapper
    assert not hasattr(ModelWrapper, "set_opset_import"), "this is qonnx's class"
else:
    from qonnx.core.modelwrapper import ModelWrapper
model = ModelWrapper(sys.argv[2])
for edit in (
    MergeDownsampleLoop(),
    ForwardWindowBuffer(),
    AbsorbAddIntoAccumulator("exact"),
    ApplyFolding({"Defaults": {"och_par": 2, "ow_par": 2}}),
    SetStreamDepths(),
):
    model = model.transform(edit)
model.save(sys.argv[3])
"""


def test_graph_edits_do_the_same_on_finn_bases_model_wrapper(tmp_path):
    python = python_with("finn-base", "FINN_RESNET_FINN_BASE_PYTHON")
    model = residual_network().transform(TidyQonnx())
    for step in (LowerToHardware(), FuseRequantChains()):
        model = model.transform(step)
    model.save(str(tmp_path / "lowered.onnx"))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    results = {}
    for wrapper in ("finn-base", "qonnx"):
        target = tmp_path / f"{wrapper}.onnx"
        arguments = [python, "-c", EDITS, wrapper, str(tmp_path / "lowered.onnx"), str(target)]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        results[wrapper] = ModelWrapper(str(target)).graph.node
    assert list(results["finn-base"]) == list(results["qonnx"])
    assert len(results["qonnx"]) < len(model.graph.node)
