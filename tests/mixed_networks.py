"""Random networks of everything the importer takes: zero-points, float and per-channel scales,
groups and dilation, concatenations, sums of two and three branches, Pad, odd pools, QDQ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.modelwrapper import ModelWrapper

from tests.qonnx_models import QUANT_DOMAIN


@dataclass(frozen=True)
class Picture:
    """A quantised tensor of the network under construction."""

    name: str
    channels: int
    height: int
    width: int


class MixedNetwork:
    """Appends layers; every random choice comes from one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: object) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *options: object) -> object:
        return options[int(self.rng.integers(len(options)))]

    def scale(self) -> float:
        """A power of two, or any float near one."""
        power = 2.0 ** int(self.rng.integers(-6, -2))
        return power if self.chance(0.3) else power * self.rng.uniform(0.6, 1.4)

    def quant(self, x: str, *, signed: bool | None = None, scale: object = None) -> str:
        """A Quant, or what onnxruntime writes: QuantizeLinear and DequantizeLinear."""
        signed = self.chance(0.5) if signed is None else signed
        scale = self.scale() if scale is None else scale
        if self.chance(0.4):
            dtype = np.int8 if signed else np.uint8
            low, high = (-60, 60) if signed else (0, 130)
            zero = self.constant(int(self.rng.integers(low, high)), dtype)
            factor = self.constant(scale)
            codes = self.node("QuantizeLinear", [x, factor, zero])
            return self.node("DequantizeLinear", [codes, factor, zero])
        bits = float(self.rng.integers(3, 9))
        zero = float(self.rng.integers(-3, 4)) if self.chance(0.3) else 0.0
        inputs = [x, self.constant(scale), self.constant(zero), self.constant(bits)]
        return self.node(
            "Quant", inputs, domain=QUANT_DOMAIN, signed=int(signed), narrow=0,
            rounding_mode="ROUND",
        )  # fmt: skip

    def weights(self, shape: tuple[int, ...]) -> str:
        """Weights with one scale, or one for each output."""
        scale: object = 2.0 ** int(self.rng.integers(-6, -3))
        if self.chance(0.5):
            scale = scale * self.rng.uniform(0.5, 1.5, (shape[0], *[1] * (len(shape) - 1)))
        values = self.constant(self.rng.normal(0, 0.4, shape))
        bits = self.constant(float(self.rng.integers(2, 9)))
        return self.node(
            "Quant", [values, self.constant(scale), self.constant(0.0), bits],
            domain=QUANT_DOMAIN, signed=1, narrow=int(self.chance(0.5)), rounding_mode="ROUND",
        )  # fmt: skip

    def conv(self, x: Picture, channels: int, stride: int = 1) -> str:
        """Convolution that halves the picture at stride 2, with or without groups and dilation."""
        groups = [g for g in range(2, x.channels + 1) if x.channels % g == channels % g == 0]
        group = int(self.pick(*groups)) if groups and self.chance(0.4) else 1
        kernel = int(self.pick(1, 3))
        dilation = 2 if kernel == 3 and stride == 1 and self.chance(0.2) else 1
        pad = dilation * (kernel // 2)
        inputs = [x.name, self.weights((channels, x.channels // group, kernel, kernel))]
        if self.chance(0.6):
            inputs.append(self.constant(self.rng.normal(0, 0.3, channels)))
        return self.node(
            "Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
            group=group, dilations=[dilation] * 2,
        )  # fmt: skip

    def activation(self, x: str) -> str:
        kind = self.pick("none", "Relu", "Clip", "LeakyRelu")
        if kind == "Clip":
            return self.node("Clip", [x, self.constant(0.0), self.constant(1.5)])
        if kind == "LeakyRelu":
            return self.node("LeakyRelu", [x], alpha=0.1)
        return x if kind == "none" else self.node(kind, [x])

    def layer(self, x: Picture) -> Picture:
        """One of the constructs; the result is quantised."""
        build = self.pick(
            self.plain, self.sum, self.sum, self.concat, self.pool, self.framed, self.block,
            self.enlarged,
        )  # fmt: skip
        return build(x)

    def plain(self, x: Picture) -> Picture:
        channels = int(self.rng.integers(1, 5))
        out = self.quant(self.activation(self.conv(x, channels)))
        return Picture(out, channels, x.height, x.width)

    def sum(self, x: Picture) -> Picture:
        branches = [x.name] if self.chance(0.5) else []
        while len(branches) < int(self.pick(2, 2, 3)):
            branches.append(self.quant(self.conv(x, x.channels)))
        if len(branches) > 2 and self.chance(0.5):
            out = self.node("Sum", branches)
        else:
            out = branches[0]
            for other in branches[1:]:
                out = self.node("Add", [out, other])
        out = self.quant(self.activation(out))
        return Picture(out, x.channels, x.height, x.width)

    def concat(self, x: Picture) -> Picture:
        """Two or three parts: branches of any width, the input itself perhaps twice."""
        parts = [x] + [x] * self.chance(0.2)
        while len(parts) < int(self.pick(2, 2, 3)):
            channels = int(self.rng.integers(1, 4))
            branch = self.quant(self.conv(x, channels))
            parts.append(Picture(branch, channels, x.height, x.width))
        parts = [parts[index] for index in self.rng.permutation(len(parts))]
        out = self.quant(self.node("Concat", [part.name for part in parts], axis=1))
        return Picture(out, sum(part.channels for part in parts), x.height, x.width)

    def block(self, x: Picture) -> Picture:
        """Residual block of one or two convolutions; a strided one projects its skip branch."""
        stride = 2 if min(x.height, x.width) > 3 and self.chance(0.4) else 1
        channels = int(self.rng.integers(1, 5)) if stride == 2 else x.channels
        height, width = (-(-size // stride) for size in (x.height, x.width))
        main = Picture(self.quant(self.conv(x, channels, stride)), channels, height, width)
        if self.chance(0.6):
            inner = main if self.chance(0.7) else self.sum(main)
            main = Picture(self.quant(self.conv(inner, channels)), channels, height, width)
        skip = x.name if stride == 1 else self.quant(self.conv(x, channels, stride))
        out = self.quant(self.activation(self.node("Add", [skip, main.name])))
        return Picture(out, channels, height, width)

    def enlarged(self, x: Picture) -> Picture:
        """Nearest Resize, perhaps before the activation's Quant."""
        if x.height * x.width > 30:
            return self.plain(x)
        rows, columns = (int(self.rng.integers(1, 3)) for _ in range(2))
        scales = self.constant([1, 1, rows, columns])
        out = self.node("Resize", [x.name, "", scales], mode="nearest")
        if self.chance(0.5):
            out = self.quant(self.activation(out))
        return Picture(out, x.channels, x.height * rows, x.width * columns)

    def pool(self, x: Picture) -> Picture:
        if min(x.height, x.width) < 3:
            return self.plain(x)
        op = str(self.pick("MaxPool", "AveragePool"))
        extra = {"count_include_pad": 1} if op == "AveragePool" else {}
        out = self.node(
            op, [x.name], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
            ceil_mode=int(op == "MaxPool" and self.chance(0.5)), **extra,
        )  # fmt: skip
        return Picture(self.quant(out), x.channels, (x.height + 1) // 2, (x.width + 1) // 2)

    def framed(self, x: Picture) -> Picture:
        pads = self.constant([0, 0, 1, 0, 0, 0, 0, 1], np.int64)
        out = self.node("Pad", [x.name, pads, self.constant(0.0)], mode="constant")
        return self.plain(Picture(out, x.channels, x.height + 1, x.width + 1))


def mixed_network(seed: int, most: int = 3) -> ModelWrapper:
    """A network of one to ``most`` layers and perhaps a classifier, drawn from ``seed``."""
    net = MixedNetwork(seed)
    channels, height, width = (int(v) for v in net.rng.integers((1, 2, 2), (4, 7, 7)))
    shape = [1, channels, height, width]
    x = Picture(net.quant("image"), channels, height, width)
    for _ in range(int(net.rng.integers(1, most + 1))):
        x = net.layer(x)
    out, out_shape = x.name, [1, x.channels, x.height, x.width]
    if net.chance(0.5):
        pooled = net.quant(net.node("GlobalAveragePool", [x.name]))
        flat = net.node("Flatten", [pooled], axis=1)
        out = net.node("Gemm", [flat, net.weights((3, x.channels))], transB=1)
        out, out_shape = net.quant(out), [1, 3]
    return network_model(net, shape, out, out_shape)


def network_model(
    net: MixedNetwork, shape: list[int], out: str, out_shape: list[int]
) -> ModelWrapper:
    """The layers of ``net`` from a float input ``image`` to the tensor ``out``."""
    graph = helper.make_graph(
        net.nodes, "mixed", [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, out_shape)], net.initializers,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(QUANT_DOMAIN, 1)]
    return ModelWrapper(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def branching_network() -> ModelWrapper:
    """A depthwise layer; branches of no, one and two windows; a depthwise layer that widens."""
    net = MixedNetwork(5)

    def conv(x: Picture, channels: int, kernel: int, group: int = 1, stride: int = 1) -> Picture:
        weights = net.weights((channels, x.channels // group, kernel, kernel))
        out = net.node(
            "Conv", [x.name, weights], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4,
            strides=[stride] * 2, group=group,
        )  # fmt: skip
        size = (-(-x.height // stride), -(-x.width // stride))
        return Picture(net.quant(net.node("Relu", [out])), channels, *size)

    x = conv(Picture(net.quant("image"), 3, 12, 12), 6, 3)
    x = conv(x, 6, 3, group=6)
    long = conv(conv(x, 4, 3), 5, 3)
    parts = [x, long, conv(x, 2, 1), conv(x, 6, 3, group=6)]
    joined = net.quant(net.node("Concat", [part.name for part in parts], axis=1))
    x = Picture(joined, sum(part.channels for part in parts), 12, 12)
    x = conv(conv(x, 2 * x.channels, 3, group=x.channels, stride=2), 4, 1)
    return network_model(net, [1, 3, 12, 12], x.name, [1, 4, 6, 6])


def pictures_for(model: ModelWrapper, seed: int, count: int = 3) -> np.ndarray:
    """Pictures [count, C, H, W]: the first saturates high, the second low, the rest are random."""
    shape = [count, *model.get_tensor_shape(model.graph.input[0].name)[1:]]
    pictures = np.random.default_rng(seed).normal(0.1, 0.7, shape).astype(np.float32)
    pictures[0], pictures[1] = 1e3, -1e3
    return pictures


def cxx_mismatches(model: ModelWrapper, folder: Path) -> int:
    """Codes of the generated C++, with the unroll factors of a build, that differ."""
    from finn_resnet.build import build
    from finn_resnet.build.steps import DEFAULT_STEPS
    from finn_resnet.config import BuildConfig

    path = folder / "mixed.onnx"
    model.save(str(path))
    steps = [s for s in DEFAULT_STEPS if s not in ("step_size_streams", "step_simulate")]
    config = BuildConfig(str(path), "KV260", output_dir=str(folder / "out"), steps=tuple(steps))
    found = build(config).report["verification"]
    assert found["compared_codes"]
    return found["mismatched_codes"]


def differing_codes(
    model: ModelWrapper, pictures: np.ndarray, optimised: bool = False
) -> dict[str, int]:
    """Codes of the hardware graph, executed in integers, that are not the reference's, by tensor.

    Every quantised tensor of the original that is a tensor of the hardware graph (lowered only, or
    ``optimised``) is compared; every output is.
    """
    from qonnx.core.onnx_exec import execute_onnx

    from finn_resnet.transformation import LowerToHardware
    from finn_resnet.transformation.recipe import lower, optimise
    from finn_resnet.verification.reference import Reference

    reference = Reference(model)
    run = reference.run(pictures)
    hardware = optimise(lower(model)) if optimised else model.transform(LowerToHardware())
    name = model.graph.input[0].name
    frames = [
        execute_onnx(hardware, {name: picture[None]}, return_full_exec_context=True)
        for picture in pictures
    ]
    found: dict[str, int] = {}
    seen = 0
    for tensor in reference.tensors:
        key = (
            tensor if tensor in frames[0] and tensor not in reference.outputs else f"{tensor}_codes"
        )
        if key not in frames[0]:
            continue
        codes = np.concatenate([frame[key] for frame in frames]).astype(np.int64)
        wanted = reference.integers(run, tensor)
        wrong = int((reference.arranged(tensor, codes).reshape(wanted.shape) != wanted).sum())
        seen += wanted.size
        if wrong:
            found[tensor] = wrong
    assert seen, "no tensor was compared"
    for output in reference.outputs:
        values = np.concatenate([frame[output] for frame in frames])
        expected = reference.values(run, output)
        off = int(reference.off_values(run, output, values.reshape(np.shape(expected))).sum())
        if off:
            found[f"{output} (values)"] = off
    assert not run.unexplained, run.unexplained
    return found
