"""`HardwareLayer`: a hardware node of ours as a FINN `HWCustomOp`.

Importing this module imports FINN. Shapes, folding, data types and execution come from the
hardware op behind the node; cycles and resources are the cost model's, written onto the node by
`InferHardwareLayers`, because they depend on the node's neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from finn.custom_op.fpgadataflow.hwcustomop import HWCustomOp
from onnx import NodeProto
from qonnx.core.datatype import BaseDataType, DataType

from finn_resnet.custom_ops import ParameterStream
from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.custom_ops.streams import Stream
from finn_resnet.finn.plain_node import LAYER_NAME, plain_op, streams_first

LAYER_ATTRIBUTES = {
    LAYER_NAME: ("s", True, ""),
    "input_dtypes": ("strings", True, []),
    "output_dtypes": ("strings", True, []),
    # The cost model's figures, FIFOs of the outputs included.
    "exp_cycles": ("i", True, 0),
    "est_dsp": ("i", True, 0),
    "est_lut": ("i", True, 0),
    "est_ff": ("i", True, 0),
    "est_bram18": ("i", True, 0),
    "est_uram": ("i", True, 0),
}


class HardwareLayer(HWCustomOp):
    """Base of the FINN ops. ``plain_class`` is the op of `finn_resnet.custom_ops` behind it."""

    plain_class: type[HardwareOp]

    @property
    def plain(self) -> HardwareOp:
        """The hardware op behind this node."""
        return plain_op(self.onnx_node)

    def get_nodeattr_types(self) -> dict[str, tuple]:
        """FINN's attributes, those of the hardware op, and `LAYER_ATTRIBUTES`."""
        own = self.plain_class(NodeProto()).get_nodeattr_types()
        return {**super().get_nodeattr_types(), **own, **LAYER_ATTRIBUTES}

    def input_stream(self, ind: int) -> Stream | None:
        """The stream of input ``ind``; None for a constant."""
        op = self.plain
        return op.input_streams()[streams_first(op)[ind]]

    def output_stream(self, ind: int) -> Stream:
        """The stream of output ``ind``."""
        return self.plain.output_streams()[ind]

    def get_input_datatype(self, ind: int = 0) -> BaseDataType:
        """Of the codes of input ``ind``."""
        return DataType[self.get_nodeattr("input_dtypes")[ind]]

    def get_output_datatype(self, ind: int = 0) -> BaseDataType:
        """Of the codes of output ``ind``."""
        return DataType[self.get_nodeattr("output_dtypes")[ind]]

    def get_normal_input_shape(self, ind: int = 0) -> list[int]:
        """Shape of the tensor; [] for a constant, which is no stream."""
        stream = self.input_stream(ind)
        return [] if stream is None else list(stream.shape)

    def get_normal_output_shape(self, ind: int = 0) -> list[int]:
        """Shape of the tensor."""
        return list(self.output_stream(ind).shape)

    def get_folded_input_shape(self, ind: int = 0) -> list[int]:
        """A frame in words: ``[1, *words, entries]``; [] for a constant."""
        stream = self.input_stream(ind)
        return [] if stream is None else [1, *stream.words, stream.entries]

    def get_folded_output_shape(self, ind: int = 0) -> list[int]:
        """A frame in words: ``[1, *words, entries]``."""
        stream = self.output_stream(ind)
        return [1, *stream.words, stream.entries]

    def get_instream_width(self, ind: int = 0) -> int:
        """Bits of a word; 0 for a constant."""
        stream = self.input_stream(ind)
        return 0 if stream is None else stream.entries * self.get_input_datatype(ind).bitwidth()

    def get_outstream_width(self, ind: int = 0) -> int:
        """Bits of a word."""
        return self.output_stream(ind).entries * self.get_output_datatype(ind).bitwidth()

    def make_shape_compatible_op(self, model: Any) -> NodeProto:
        """Stand-in for ONNX shape inference."""
        return self.plain.make_shape_compatible_op(model)

    def infer_node_datatype(self, model: Any) -> None:
        """The output types are fixed: the hardware was sized for them."""
        for name, dtype in zip(
            self.onnx_node.output, self.get_nodeattr("output_dtypes"), strict=True
        ):
            model.set_tensor_datatype(name, DataType[dtype])

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Exact integer execution in Python."""
        self.plain.execute_node(context, graph)

    def verify_node(self) -> list[str]:
        """What is wrong with the node's attributes."""
        return self.plain.verify_node()

    def get_exp_cycles(self) -> int:
        """Cycles of a frame by the cost model."""
        return self.get_nodeattr("exp_cycles")

    def dsp_estimation(self, fpgapart: str) -> int:
        """DSP slices by the cost model."""
        return self.get_nodeattr("est_dsp")

    def lut_estimation(self, fpgapart: str) -> int:
        """LUTs by the cost model."""
        return self.get_nodeattr("est_lut")

    def bram_estimation(self, fpgapart: str) -> int:
        """18 Kbit block RAMs by the cost model."""
        return self.get_nodeattr("est_bram18")

    def uram_estimation(self, fpgapart: str) -> int:
        """UltraRAMs by the cost model."""
        return self.get_nodeattr("est_uram")

    def node_res_estimation(self, fpgapart: str) -> dict[str, float]:
        """FINN's figures and flip-flops."""
        return {**super().node_res_estimation(fpgapart), "FF": self.get_nodeattr("est_ff")}

    def get_op_and_param_counts(self) -> dict[str, int]:
        """Multiply-accumulates of a convolution, weights of a parameter task, in FINN's keys."""
        op = self.plain
        counts = {_mac(*bits): count for bits, count in op.mac_counts().items()}
        if isinstance(op, ParameterStream):
            och, ich, fh, fw, bits = op.attrs("och", "ich", "fh", "fw", "bits")
            counts[f"param_weight_{bits}b"] = och * ich * fh * fw
        return counts


def _mac(code_bits: int, weight_bits: int) -> str:
    low, high = sorted((code_bits, weight_bits))
    return f"op_mac_{low}bx{high}b"
