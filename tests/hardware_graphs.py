"""Residual networks as hardware graphs with all three graph optimisations applied."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from qonnx.core.datatype import DataType
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops import DOMAIN

SHIFT = '[{"kind":"shift","shift":8,"rounding":"ROUND","lo":0,"hi":255}]'


class HardwareGraph:
    """Builds a graph node by node; every method returns the tensor(s) it makes."""

    def __init__(self, h: int, w: int, ch: int, seed: int = 0) -> None:
        self._nodes = []
        self._initialisers = []
        self._types = {}
        self._rng = np.random.default_rng(seed)
        self._shape = {"input": (h, w, ch)}
        self._weight_shapes = {}
        self.input = self._node(
            "InputDMA", "input_dma", ["input"], ["codes"], h=h, w=w, ch=ch, code_bytes=1, signed=0
        )[0]
        self._shape[self.input] = (h, w, ch)

    def _node(self, op, name, inputs, outputs, **attributes):
        node = helper.make_node(op, inputs, outputs, name=name, domain=DOMAIN, **attributes)
        self._nodes.append(node)
        for output in outputs:
            self._types[output] = DataType["UINT8"]
        return list(outputs)

    def _weights(self, name, och, fh, fw, ich):
        values = self._rng.integers(-127, 128, (och, fh, fw, ich)).astype(np.float32)
        self._initialisers.append((f"{name}_weights", values))
        self._weight_shapes[f"{name}_weight_stream"] = values.shape
        self._node(
            "ParameterStream",
            f"{name}_parameters",
            [f"{name}_weights"],
            [f"{name}_weight_stream"],
            och=och,
            ich=ich,
            fh=fh,
            fw=fw,
            repeats=1,
            bits=8,
        )
        self._types[f"{name}_weight_stream"] = DataType["INT8"]
        bias = self._rng.integers(-500, 500, och).astype(np.float32)
        self._initialisers.append((f"{name}_bias", bias))
        return [f"{name}_weight_stream", f"{name}_bias"]

    def conv(self, name, x, och, k=3, stride=1, pad=None, forward=False, downsample=False, skip=""):
        """Window buffer, parameters and convolution: ``(out, [forwarded], [downsampled])``."""
        ih, iw, ich = self._shape[x]
        pad = k // 2 if pad is None else pad
        oh, ow = (ih + 2 * pad - k) // stride + 1, (iw + 2 * pad - k) // stride + 1
        geometry = dict(zip(("ih", "iw", "ich"), self._shape[x], strict=True))
        geometry.update(oh=oh, ow=ow, fh=k, fw=k, stride=[stride] * 2, pads=[pad] * 4)
        outputs = [f"{name}_window"] + ([f"{name}_forward"] if forward else [])
        self._node("WindowBuffer", f"{name}_buffer", [x], outputs, forward=int(forward), **geometry)
        self._shape[f"{name}_window"] = (oh, ow, k * k * ich)
        inputs = [f"{name}_window", *self._weights(name, och, k, k, ich)]
        extra = {}
        made = [f"{name}_out"]
        if downsample:
            inputs += self._weights(f"{name}_ds", och, 1, 1, ich)
            extra = {"merge_downsample": 1, "ds_tap": [pad, pad], "ds_in_hi": 255}
            extra["ds_requant"] = SHIFT
            made.append(f"{name}_ds_out")
        if skip:
            inputs.append(skip)
            extra["skip"] = "accumulator"
        self._node(
            "StreamConv",
            name,
            inputs,
            made,
            och=och,
            in_lo=0,
            in_hi=255,
            weight_bits=8,
            requant=SHIFT,
            **geometry,
            **extra,
        )
        for output in made:
            self._shape[output] = (oh, ow, och)
        if forward:
            self._shape[f"{name}_forward"] = (ih, iw, ich)
            made.append(f"{name}_forward")
        return made

    def block(self, name, x, och, stride=1):
        """A residual block: temporal reuse of the skip, or the merged downsample."""
        ich = self._shape[x][2]
        if stride == 1 and ich == och:
            out, skip = self.conv(f"{name}_conv0", x, och, forward=True)
        else:
            out, skip = self.conv(f"{name}_conv0", x, och, stride=stride, downsample=True)
        return self.conv(f"{name}_conv1", out, och, skip=skip)[0]

    def global_pool(self, name, x):
        """Global maximum."""
        h, w, ch = self._shape[x]
        self._shape[f"{name}_out"] = (1, 1, ch)
        return self._node(
            "StreamPool",
            name,
            [x],
            [f"{name}_out"],
            kind="max",
            ch=ch,
            ih=h,
            iw=w,
            oh=1,
            ow=1,
            fh=h,
            fw=w,
            windowed=0,
            stride=[1, 1],
            pads=[0, 0, 0, 0],
        )[0]

    def add(self, name, a, b):
        """Residual addition as a node of its own."""
        h, w, ch = self._shape[a]
        self._shape[f"{name}_out"] = (h, w, ch)
        return self._node(
            "StreamAdd", name, [a, b], [f"{name}_out"], h=h, w=w, ch=ch, requant=SHIFT
        )[0]

    def fork(self, name, x, copies=2):
        """Copies of a stream."""
        h, w, ch = self._shape[x]
        outputs = [f"{name}_{i}" for i in range(copies)]
        self._shape.update(dict.fromkeys(outputs, (h, w, ch)))
        return self._node("StreamFork", name, [x], outputs, h=h, w=w, ch=ch, copies=copies)

    def finish(self, x) -> ModelWrapper:
        """The graph with its output DMA."""
        h, w, ch = self._shape[x]
        self._node("OutputDMA", "output_dma", [x], ["output"], h=h, w=w, ch=ch, signed=0)
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *shape])
            for name, shape in (("input", self._shape["input"]), ("output", (h, w, ch)))
        ]
        graph = helper.make_graph(self._nodes, "hardware", ends[:1], ends[1:])
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
        model = ModelWrapper(helper.make_model(graph, opset_imports=opsets))
        for name, values in self._initialisers:
            model.set_initializer(name, values)
        for name, datatype in self._types.items():
            model.set_tensor_datatype(name, datatype)
            if name in self._shape:
                model.set_tensor_shape(name, [1, *self._shape[name]])
        for name, shape in self._weight_shapes.items():
            model.set_tensor_shape(name, list(shape))
        return model


def resnet(blocks_per_stage: int, widths=(16, 32, 64), size: int = 32) -> ModelWrapper:
    """CIFAR residual network: ResNet8 has 1 block per stage, ResNet20 has 3."""
    graph = HardwareGraph(size, size, 3)
    x = graph.conv("conv0", graph.input, widths[0])[0]
    for stage, width in enumerate(widths):
        for block in range(blocks_per_stage):
            stride = 2 if stage and not block else 1
            x = graph.block(f"layer{stage + 1}_{block}", x, width, stride)
    x = graph.global_pool("pool", x)
    x = graph.conv("classifier", x, 10, k=1)[0]
    return graph.finish(x)
