"""Collects the hardware nodes, initialisers and annotations of a graph being lowered."""

from __future__ import annotations

import re

import numpy as np
from onnx import NodeProto, TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.base import DOMAIN, EXACT_IN_FLOAT32
from finn_resnet.numerics.ranges import Range


def identifier(name: str) -> str:
    """C identifier made of a node or tensor name; ASCII, which every tool takes."""
    cleaned = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return f"n_{cleaned}" if not cleaned or cleaned[0].isdigit() else cleaned


class HardwareGraphBuilder:
    """Nodes in topological order, with the shape and the range of every tensor."""

    def __init__(self, reserved: list[str] | None = None) -> None:
        """``reserved``: tensor names of the original that stay."""
        self.nodes: list[NodeProto] = []
        self.origin = ""
        """Name of the original node that is being lowered: the `doc_string` of what it becomes."""
        self._initialisers: dict[str, np.ndarray] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._ranges: dict[str, Range] = {}
        self._taken: set[str] = set()
        self._renamed: dict[str, str] = {}
        self.reserved = set(reserved or ())
        """Tensor names of the original: none of ours may be one of them."""

    def unique_name(self, wanted: str) -> str:
        """A C identifier no other node has."""
        base = identifier(wanted)
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def unique_tensor(self, wanted: str) -> str:
        """A tensor name that neither the original nor this graph has."""
        name, count = wanted, 1
        while name in self.reserved or name in self._shapes:
            count += 1
            name = f"{wanted}_{count}"
        return name

    def has_tensor(self, name: str) -> bool:
        """Whether a hardware node writes a tensor of that name."""
        return name in self._shapes

    def current(self, name: str) -> str:
        """The name a tensor has now (`rename`)."""
        return self._renamed.get(name, name)

    def initialiser(self, name: str, codes: np.ndarray) -> str:
        """Add an integer parameter tensor; returns its name."""
        self._initialisers[name] = codes
        found = Range(int(codes.min(initial=0)), int(codes.max(initial=0)))
        self.describe(name, codes.shape, found)
        return name

    def describe(self, name: str, shape: tuple[int, ...], found: Range | None) -> None:
        """Set shape and range of a tensor."""
        self._shapes[name] = shape
        if found is not None:
            self._ranges[name] = found

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a described tensor."""
        return self._shapes[name]

    def describe_like(self, name: str, other: str) -> None:
        """Give ``name`` the shape and range of ``other``."""
        self.describe(name, self._shapes[other], self._ranges.get(other))

    def rename(self, old: str, new: str) -> None:
        """Rename a tensor everywhere."""
        for node in self.nodes:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]
        self._renamed[old] = new
        self.describe_like(new, old)
        del self._shapes[old]
        self._ranges.pop(old, None)

    def node(self, op: str, name: str, inputs: list[str], outputs: list[str], **attrs) -> NodeProto:
        """Append a hardware node; integer lists are attributes of type ints."""
        made = helper.make_node(
            op, inputs, outputs, self.unique_name(name), self.origin or None, DOMAIN, **attrs
        )
        self.nodes.append(made)
        return made

    def install(self, model: ModelWrapper) -> None:
        """Replace the graph of ``model`` by what was collected, keeping its inputs and outputs."""
        graph = model.graph
        for old in (graph.node, graph.initializer, graph.value_info, graph.quantization_annotation):
            del old[:]
        graph.node.extend(self.nodes)
        for name, codes in self._initialisers.items():
            wide = np.abs(codes).max(initial=0) > EXACT_IN_FLOAT32
            model.set_initializer(name, codes.astype(np.float64 if wide else np.float32))
        fixed = {tensor.name for tensor in (*graph.input, *graph.output)}
        for name, shape in self._shapes.items():
            if name not in fixed and name not in self._initialisers:
                info = helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
                graph.value_info.append(info)
        for name, found in self._ranges.items():
            model.set_tensor_datatype(name, found.datatype)
        model.set_opset_import(DOMAIN, 1)
