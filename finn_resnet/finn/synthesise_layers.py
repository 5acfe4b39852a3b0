"""FINN's per-node transformations, for worker processes that must know our layers.

FINN starts its workers afresh; such a worker learns of our layers by importing this module, which
it does to find the classes below.
"""

from __future__ import annotations

from finn.transformation.fpgadataflow.compile_cppsim import CompileCppSim
from finn.transformation.fpgadataflow.hlssynth_ip import HLSSynthIP
from finn.transformation.fpgadataflow.prepare_cppsim import PrepareCppSim

from finn_resnet.finn.layers import register

register()


class PrepareLayerSimulation(PrepareCppSim):
    """PrepareCppSim on graphs with our layers."""


class CompileLayerSimulation(CompileCppSim):
    """CompileCppSim on graphs with our layers."""


class SynthesiseLayers(HLSSynthIP):
    """HLSSynthIP on graphs with our layers; needs Vitis."""
