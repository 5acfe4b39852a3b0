"""Hand-made graphs of hardware nodes with any unroll factors, and their exact NumPy execution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.custom_ops.base import DOMAIN
from finn_resnet.custom_ops.stream_concat import concat_channels
from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import Project
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser, ShiftStage
from finn_resnet.simulation.compiler import compile_project
from finn_resnet.simulation.runner import SimulatedCodes, run_codes

UINT8 = Range(0, 255)
INT8 = Range(-128, 127)


def shift_to(codes: Range, shift: int, rounding: str = "ROUND") -> Requantiser:
    """Requantiser that scales by ``2**-shift`` into a range."""
    return Requantiser((ShiftStage(shift, rounding, codes.lo, codes.hi),))


def fitting_shift(total: Range, codes: Range) -> Requantiser:
    """Shift that uses most of the range of ``codes`` and clips a little."""
    return shift_to(codes, max(total.bits - codes.bits - 2, 0))


@dataclass(frozen=True)
class Edge:
    """A tensor of the graph and how it travels."""

    name: str
    shape: tuple[int, int, int]
    codes: Range
    lanes: int
    ch_par: int


class StreamGraph:
    """Builds a graph node by node; several independent chains may share it."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self._nodes: list = []
        self._ranges: dict[str, Range] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._initialisers: dict[str, np.ndarray] = {}
        self._inputs: list[str] = []
        self._outputs: list[str] = []

    def _node(self, op: str, name: str, inputs: list[str], outputs: list[str], **attributes):
        node = helper.make_node(op, inputs, outputs, name=name, domain=DOMAIN, **attributes)
        self._nodes.append(node)

    def node_names(self) -> list[str]:
        """All nodes so far, in the order they were made."""
        return [node.name for node in self._nodes]

    def port_counts(self) -> tuple[int, int]:
        """Inputs and outputs so far."""
        return len(self._inputs), len(self._outputs)

    def attributes(self, name: str) -> dict:
        """Attributes of a node."""
        node = next(node for node in self._nodes if node.name == name)
        return {item.name: helper.get_attribute_value(item) for item in node.attribute}

    def _tensor(self, edge: Edge) -> Edge:
        self._ranges[edge.name] = edge.codes
        self._shapes[edge.name] = (1, *edge.shape)
        return edge

    @staticmethod
    def _picture(x: Edge) -> dict[str, int]:
        h, w, ch = x.shape
        return {"h": h, "w": w, "ch": ch, "ch_par": x.ch_par, "lanes": x.lanes}

    @staticmethod
    def _bytes(codes: Range) -> dict[str, int]:
        size = next(size for size in (1, 2, 4) if codes.bits <= 8 * size)
        return {"code_bytes": size, "signed": int(codes.signed)}

    def constant(self, name: str, values: np.ndarray) -> str:
        """Integer initialiser."""
        self._initialisers[name] = values
        return name

    def input(self, shape, codes: Range = UINT8, lanes: int = 1, ch_par: int | None = None) -> Edge:
        """An input DMA."""
        name = f"in{len(self._inputs)}"
        h, w, ch = shape
        out = Edge(f"{name}_codes", tuple(shape), codes, lanes, ch_par or ch)
        self._inputs.append(f"{name}_host")
        self._shapes[f"{name}_host"] = (1, h, w, ch)
        self._ranges[f"{name}_host"] = codes
        self._node(
            "InputDMA",
            name,
            [f"{name}_host"],
            [out.name],
            **self._picture(out),
            **self._bytes(out.codes),
        )
        return self._tensor(out)

    def output(self, x: Edge) -> Edge:
        """An output DMA."""
        name = f"out{len(self._outputs)}"
        ch = x.shape[2]
        self._outputs.append(f"{name}_host")
        self._node(
            "OutputDMA",
            name,
            [x.name],
            [f"{name}_host"],
            **self._picture(x),
            **self._bytes(x.codes),
        )
        return self._tensor(Edge(f"{name}_host", x.shape, x.codes, 1, ch))

    def adapt(self, x: Edge, lanes: int, ch_par: int) -> Edge:
        """A width adapter where the layouts differ."""
        if (x.lanes, x.ch_par) == (lanes, ch_par):
            return x
        name = f"adapter{len(self._nodes)}"
        h, w, ch = x.shape
        self._node(
            "StreamWidthAdapter",
            name,
            [x.name],
            [f"{name}_codes"],
            **{"h": h, "w": w, "ch": ch, "in_ch_par": x.ch_par, "in_lanes": x.lanes},
            **{"out_ch_par": ch_par, "out_lanes": lanes},
        )
        return self._tensor(Edge(f"{name}_codes", x.shape, x.codes, lanes, ch_par))

    def window(self, name, x: Edge, kernel, stride, pads, ich_par, ow_par, **options) -> list[Edge]:
        """A window buffer: the window edge, and the forwarded picture if asked for."""
        ih, iw, ich = x.shape
        top, left, bottom, right = pads
        oh = (ih + top + bottom - kernel[0]) // stride[0] + 1
        ow = (iw + left + right - kernel[1]) // stride[1] + 1
        lanes = options.get("in_lanes") or ow_par
        x = self.adapt(x, lanes, ich_par)
        outputs = [f"{name}_window"] + [f"{name}_forward"] * options.get("forward", 0)
        self._node(
            "WindowBuffer",
            f"{name}_buffer",
            [x.name],
            outputs,
            **self.geometry(x, oh, ow, kernel, stride, pads),
            **{"ich": ich, "ich_par": ich_par, "ow_par": ow_par},
            **options,
        )
        padded = x.codes.including(options.get("pad_value", 0)) if any(pads) else x.codes
        window = Edge(outputs[0], (oh, ow, kernel[0] * kernel[1] * ich), padded, 0, 0)
        edges = [self._tensor(window)]
        if options.get("forward"):
            edges.append(self._tensor(Edge(outputs[1], x.shape, x.codes, lanes, ich_par)))
        return edges

    @staticmethod
    def geometry(x: Edge, oh, ow, kernel, stride, pads) -> dict:
        """Window attributes shared by three ops."""
        return {
            "ih": x.shape[0],
            "iw": x.shape[1],
            "oh": oh,
            "ow": ow,
            "fh": kernel[0],
            "fw": kernel[1],
            "stride": list(stride),
            "pads": list(pads),
        }

    def weights(self, name: str, array: np.ndarray, repeats, och_par, ich_par, mem_style="bram"):
        """A parameter task; the name of its stream."""
        och, fh, fw, ich = array.shape
        codes = Range(int(array.min()), int(array.max()))
        self._ranges[self.constant(f"{name}_array", array)] = codes
        self._ranges[f"{name}_stream"] = codes
        self._shapes[f"{name}_stream"] = array.shape
        self._node(
            "ParameterStream",
            name,
            [f"{name}_array"],
            [f"{name}_stream"],
            **{"och": och, "ich": ich, "fh": fh, "fw": fw, "och_par": och_par, "ich_par": ich_par},
            **{"repeats": repeats, "bits": max(codes.bits, 2), "mem_style": mem_style},
        )
        return f"{name}_stream"

    def random_weights(self, *shape: int, bits: int = 8) -> np.ndarray:
        """Weights over the whole signed range."""
        return self.rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)

    def conv(
        self,
        name: str,
        x: Edge,
        weights: np.ndarray,
        *,
        stride=(1, 1),
        pads=(0, 0, 0, 0),
        factors=(1, 1, 1),
        out: Range = INT8,
        requant: Requantiser | None = None,
        in_requant: Requantiser | None = None,
        skip: Edge | None = None,
        skip_form: str = "none",
        shifts=(0, 0),
        mults=(1, 1),
        pre_requant: Requantiser | None = None,
        ds_weights: np.ndarray | None = None,
        ds_tap=(0, 0),
        mac_style: str = "dsp",
        in_lanes: int = 0,
        forward: bool = False,
        link_style: str = "bram",
    ) -> list[Edge]:
        """Window buffer, parameters and convolution: [out, (ds_out), (forward)].

        ``factors`` are (och_par, ich_par, ow_par).
        """
        kernel = weights.shape[1:3]
        options = {"in_lanes": in_lanes, "forward": int(forward), "link_style": link_style}
        window, *forwarded = self.window(name, x, kernel, stride, pads, *factors[1:], **options)
        multiplied = (in_requant or Requantiser()).output_range(window.codes)
        total, inputs = self._multiplication(name, window, weights, factors, multiplied)
        names, made = [f"{name}_out"], []
        attributes = self._conv_attributes(x, window, weights, stride, pads, factors, multiplied)
        attributes |= {"mac_style": mac_style}
        attributes |= {"in_requant": in_requant.to_json() if in_requant else ""}
        if ds_weights is not None:
            made, constants, more = self._downsample(name, window, ds_weights, ds_tap, factors)
            names, inputs, attributes = (
                [*names, made[0].name],
                inputs + constants,
                attributes | more,
            )
        if skip is not None:
            scaled = (shifts, mults, pre_requant, factors)
            edge, total, more = self._skip(skip, skip_form, total, *scaled)
            inputs, attributes = [*inputs, edge], attributes | more
        requant = requant or fitting_shift(total, out)
        self._node("StreamConv", name, inputs, names, requant=requant.to_json(), **attributes)
        shape, codes = (*window.shape[:2], len(weights)), requant.output_range(total)
        return [
            self._tensor(Edge(names[0], shape, codes, factors[2], factors[0])),
            *made,
            *forwarded,
        ]

    def _conv_attributes(self, x, window, weights, stride, pads, factors, multiplied: Range):
        och, fh, fw, ich = weights.shape
        och_par, ich_par, ow_par = factors
        return dict(
            self.geometry(x, *window.shape[:2], (fh, fw), stride, pads),
            **{"ich": ich, "och": och, "och_par": och_par, "ich_par": ich_par, "ow_par": ow_par},
            **{"in_lo": multiplied.lo, "in_hi": multiplied.hi, "weight_bits": 8},
        )

    def _multiplication(
        self, name, window: Edge, weights: np.ndarray, factors, codes: Range, reach: int = 300
    ) -> tuple[Range, list[str]]:
        """Range of the accumulator, and the inputs of a convolution: window, weights, bias."""
        och_par, ich_par, ow_par = factors
        oh, ow, _ = window.shape
        bias = self.rng.integers(-reach, reach, len(weights))
        inputs = [
            window.name,
            self.weights(f"{name}_weights", weights, oh * -(-ow // ow_par), och_par, ich_par),
            self.constant(f"{name}_bias", bias),
        ]
        return accumulator_range(weights, bias, codes), inputs

    def grouped_conv(
        self,
        name: str,
        x: Edge,
        weights: np.ndarray,
        *,
        stride=(1, 1),
        pads=(0, 0, 0, 0),
        factors=(1, 1),
        out: Range = INT8,
        requant: Requantiser | None = None,
        mac_style: str = "dsp",
        in_lanes: int = 0,
        pad_value: int = 0,
        link_style: str = "bram",
    ) -> list[Edge]:
        """Window buffer, parameters and grouped convolution: [out].

        ``weights`` are [och, fh, fw, ich / group], ``factors`` (groups, columns) at once.
        """
        och, fh, fw, part = weights.shape
        group = x.shape[2] // part
        inner = (factors[0] * och // group, factors[0] * part, factors[1])
        options = {"in_lanes": in_lanes, "pad_value": pad_value, "link_style": link_style}
        window = self.window(name, x, (fh, fw), stride, pads, *inner[1:], **options)[0]
        packed = (inner[0], part, inner[2])
        total, inputs = self._multiplication(name, window, weights, packed, window.codes, 20)
        attributes = self._conv_attributes(x, window, weights, stride, pads, inner, window.codes)
        del attributes["ich_par"]
        attributes |= {"ich": x.shape[2], "group": group, "mac_style": mac_style}
        requant = requant or fitting_shift(total, out)
        self._node(
            "StreamGroupedConv", name, inputs, [f"{name}_out"], requant=requant.to_json(),
            **attributes,
        )  # fmt: skip
        shape, codes = (*window.shape[:2], och), requant.output_range(total)
        return [self._tensor(Edge(f"{name}_out", shape, codes, inner[2], inner[0]))]

    def _skip(self, skip: Edge, form, acc: Range, shifts, mults, pre_requant, factors):
        """Input tensor, range of the sum and attributes of an addition inside a convolution."""
        attributes = {"skip": form, "acc_shift": shifts[0], "skip_shift": shifts[1]}
        if form == "epilogue":
            pre_requant = pre_requant or fitting_shift(acc, INT8)
            attributes["pre_requant"] = pre_requant.to_json()
            acc = pre_requant.output_range(acc)
            attributes |= {"acc_mult": mults[0], "skip_mult": mults[1]}
        skip = self.adapt(skip, factors[2], factors[0])
        sides = zip((acc, skip.codes), mults, shifts, strict=True)
        acc, added = (codes.times(mult).shifted(shift) for codes, mult, shift in sides)
        return skip.name, acc.plus(added), attributes

    def _downsample(self, name, window: Edge, weights: np.ndarray, tap, factors):
        """Output edge, further inputs and attributes of a merged 1x1 convolution."""
        total, inputs = self._multiplication(f"{name}_ds", window, weights, factors, window.codes)
        oh, ow, _ = window.shape
        edge = Edge(f"{name}_ds_out", (oh, ow, len(weights)), INT8, factors[2], factors[0])
        attributes = {
            "merge_downsample": 1,
            "ds_tap": list(tap),
            "ds_in_lo": window.codes.lo,
            "ds_in_hi": window.codes.hi,
            "ds_requant": fitting_shift(total, edge.codes).to_json(),
        }
        return [self._tensor(edge)], inputs[1:], attributes

    def pool(self, name, x: Edge, kind, kernel, stride, pads, ch_par, ow_par, out=None) -> Edge:
        """Windowed pool with its window buffer."""
        lowest = x.codes.lo if kind == "max" else 0
        window = self.window(
            name, x, kernel, stride, pads, ch_par, ow_par, pad_value=lowest, in_lanes=0
        )[0]
        return self._pool_node(name, window, x, kind, kernel, stride, pads, ch_par, ow_par, 1, out)

    def global_pool(self, name, x: Edge, kind, out: Requantiser | None = None) -> Edge:
        """Pool of the whole picture."""
        h, w, _ = x.shape
        pads = (0, 0, 0, 0)
        return self._pool_node(name, x, x, kind, (h, w), (1, 1), pads, x.ch_par, x.lanes, 0, out)

    def _pool_node(
        self, name, source, x, kind, kernel, stride, pads, ch_par, ow_par, windowed, out
    ) -> Edge:
        oh, ow = source.shape[:2] if windowed else (1, 1)
        ch = x.shape[2]
        count = kernel[0] * kernel[1] if kind == "average" else 1
        total = Range(source.codes.lo * count, source.codes.hi * count)
        requant = out or Requantiser()
        self._node(
            "StreamPool",
            name,
            [source.name],
            [f"{name}_out"],
            **self.geometry(x, oh, ow, kernel, stride, pads),
            **{"kind": kind, "ch": ch, "ch_par": ch_par, "ow_par": ow_par, "windowed": windowed},
            requant=requant.to_json(),
        )
        lanes = ow_par if windowed else 1
        codes = requant.output_range(total)
        return self._tensor(Edge(f"{name}_out", (oh, ow, ch), codes, lanes, ch_par))

    def fork(self, name, x: Edge, copies: int = 2) -> list[Edge]:
        """Copies of a stream."""
        names = [f"{name}_{i}" for i in range(copies)]
        self._node("StreamFork", name, [x.name], names, copies=copies, **self._picture(x))
        return [self._tensor(Edge(n, x.shape, x.codes, x.lanes, x.ch_par)) for n in names]

    def add(self, name, a: Edge, b: Edge, shifts, requant: Requantiser) -> Edge:
        """Residual addition."""
        b = self.adapt(b, a.lanes, a.ch_par)
        total = a.codes.shifted(shifts[0]).plus(b.codes.shifted(shifts[1]))
        self._node(
            "StreamAdd",
            name,
            [a.name, b.name],
            [f"{name}_out"],
            **self._picture(a),
            **{"shift_a": shifts[0], "shift_b": shifts[1], "requant": requant.to_json()},
        )
        codes = requant.output_range(total)
        return self._tensor(Edge(f"{name}_out", a.shape, codes, a.lanes, a.ch_par))

    def resize(self, name, x: Edge, rows: int, columns: int) -> Edge:
        """Enlargement by whole factors."""
        h, w, ch = x.shape
        factors = {"rows": rows, "columns": columns}
        self._node("StreamResize", name, [x.name], [f"{name}_out"], **self._picture(x), **factors)
        shape = (h * rows, w * columns, ch)
        return self._tensor(Edge(f"{name}_out", shape, x.codes, x.lanes, x.ch_par))

    def concat(self, name, parts: list[Edge], lanes: int, ch_par: int, requant=None) -> Edge:
        """Concatenation of channels, in tokens of at most ``ch_par``."""
        channels = [part.shape[2] for part in parts]
        ch_par = concat_channels(tuple(channels), ch_par)
        parts = [self.adapt(part, lanes, ch_par) for part in parts]
        h, w, _ = parts[0].shape
        total = Range(min(p.codes.lo for p in parts), max(p.codes.hi for p in parts))
        codes = (requant or Requantiser()).output_range(total)
        out = Edge(f"{name}_out", (h, w, sum(channels)), codes, lanes, ch_par)
        self._node(
            "StreamConcat", name, [part.name for part in parts], [out.name], parts=channels,
            requant=requant.to_json() if requant else "", **self._picture(out),
        )  # fmt: skip
        return self._tensor(out)

    def requant(self, name, x: Edge, requant: Requantiser) -> Edge:
        """Requantisation of a stream."""
        self._node(
            "StreamRequant",
            name,
            [x.name],
            [f"{name}_out"],
            **self._picture(x),
            requant=requant.to_json(),
        )
        codes = requant.output_range(x.codes)
        return self._tensor(Edge(f"{name}_out", x.shape, codes, x.lanes, x.ch_par))

    def model(self) -> ModelWrapper:
        """The graph."""

        def info(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(self._shapes[name]))

        graph = helper.make_graph(
            self._nodes, "hardware", list(map(info, self._inputs)), list(map(info, self._outputs))
        )
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
        model = ModelWrapper(helper.make_model(graph, opset_imports=opsets))
        for name, values in self._initialisers.items():
            model.set_initializer(name, values.astype(np.float32))
        for name, shape in self._shapes.items():
            model.set_tensor_shape(name, list(shape))
        for name, codes in self._ranges.items():
            model.set_tensor_datatype(name, codes.datatype)
        return model

    def frames(self, count: int = 3) -> dict[str, np.ndarray]:
        """Different frames for every input, extreme codes among them, by port name."""
        single = len(self._inputs) == 1
        made = {}
        for index, name in enumerate(self._inputs):
            codes, shape = self._ranges[name], (count, *self._shapes[name][1:])
            values = self.rng.integers(codes.lo, codes.hi + 1, shape)
            extremes = self.rng.random(shape)
            values = np.where(extremes < 0.1, codes.lo, np.where(extremes > 0.9, codes.hi, values))
            made["input" if single else f"input{index}"] = values
        return made


class FusedGraph(StreamGraph):
    """The same graph with window rows and embedded weights wherever they are possible."""

    def model(self) -> ModelWrapper:
        """The graph."""
        model = super().model()
        for node in model.get_nodes_by_op_type("WindowBuffer"):
            op = getCustomOp(node)
            if op.row_window().problem(op.get_nodeattr("fh")) is None:
                for part in (op, getCustomOp(model.find_consumer(node.output[0]))):
                    part.set_nodeattr("buffer_style", "rows")
        for node in model.get_nodes_by_op_type("ParameterStream"):
            for part in (node, model.find_consumer(node.output[0])):
                getCustomOp(part).set_nodeattr("mem_mode", "internal_embedded")
        return model


def expected_codes(model: ModelWrapper, frames: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every tensor of the graph by exact NumPy execution of its custom ops."""
    context = {init.name: model.get_initializer(init.name) for init in model.graph.initializer}
    for info, values in zip(model.graph.input, frames.values(), strict=True):
        context[info.name] = values.astype(np.float32)
    for node in model.graph.node:
        getCustomOp(node).execute_node(context, model.graph)
    return {name: values.astype(np.int64) for name, values in context.items()}


def simulate(
    model: ModelWrapper, folder: Path, frames: dict[str, np.ndarray], **switches: bool
) -> tuple[Project, SimulatedCodes]:
    """Generate, compile and run; activations of every stream are read back."""
    project = generate_project(model, folder, "network")
    executable = compile_project(project.directory, **switches)
    tensors = [tensor.name for tensor in project.tensors]
    run = run_codes(executable, frames, tensors=tensors, probes=switches.get("probes", False))
    return project, run


def assert_bit_exact(graph: StreamGraph, folder: Path, count: int = 3, **switches: bool) -> Project:
    """Outputs and all activation streams of ``count`` frames equal the NumPy execution."""
    model, frames = graph.model(), graph.frames(count)
    project, run = simulate(model, folder, frames, **switches)
    expected = expected_codes(model, frames)
    for name, codes in run.tensors.items():
        np.testing.assert_array_equal(codes, expected[name], err_msg=f"tensor {name}")
    for port in project.outputs:
        codes = run.outputs[port.name]
        np.testing.assert_array_equal(codes, expected[port.tensor], err_msg=port.name)
    return project
