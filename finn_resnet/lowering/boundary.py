"""The ends of the hardware graph: outputs, forks, and nodes nobody reads."""

from __future__ import annotations

import json

from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.importing.findings import Finding
from finn_resnet.importing.quantiser import is_quant
from finn_resnet.lowering.hardware_graph import HardwareGraphBuilder
from finn_resnet.lowering.host_ends import as_host
from finn_resnet.lowering.interpreter import NAMED_FORMATS, Interpreter, Unsupported
from finn_resnet.lowering.tensors import CodeTensor, Unknown


def all_findings(model: ModelWrapper, interpreter: Interpreter) -> list[Finding]:
    """Every problem of the model: whole-graph ones first, then node by node, then outputs."""
    nodes = model.graph.node
    moving = [n for n in nodes if is_quant(n) and interpreter.constant(n.output[0]) is None]
    if not any(is_quant(n) for n in nodes):
        named = [f for f in interpreter.findings if f.op in NAMED_FORMATS]
        return named or [
            Finding(
                model.graph.name or "graph", "model", "it has no Quant node: a float model",
                "train or export it quantised (QONNX)",
            )
        ]  # fmt: skip
    found = list(interpreter.findings)
    inputs = [n for n in interpreter.builder.nodes if n.op_type == "QuantizeInput"]
    if not moving and not inputs and not found:
        found.append(
            Finding(
                model.graph.name or "graph", "model", "no activation is quantised",
                "quantise activations as well as weights",
            )
        )  # fmt: skip
    if len(model.graph.input) != 1:
        names = ", ".join(tensor.name for tensor in model.graph.input)
        found.append(
            Finding(
                model.graph.name or "graph", "model", f"{len(model.graph.input)} inputs ({names})",
                "use one picture input",
            )
        )  # fmt: skip
    return found + _output_findings(model, interpreter)


def _output_findings(model: ModelWrapper, interpreter: Interpreter) -> list[Finding]:
    found = []
    for tensor in model.graph.output:
        if isinstance(interpreter.tensors.get(tensor.name), CodeTensor | Unknown):
            continue
        try:
            host = as_host(interpreter, tensor.name)
            if host is None or isinstance(host.source, str):
                raise Unsupported("it does not come from the accelerator", "leave this output out")
        except Unsupported as error:
            found.append(Finding(tensor.name, "output", *error.args))
    return found


def add_outputs(model: ModelWrapper, interpreter: Interpreter) -> None:
    """OutputDMA and DequantizeOutput for every graph output."""
    builder = interpreter.builder
    builder.origin = ""
    hosts = {t.name: as_host(interpreter, t.name) for t in model.graph.output}
    for name in hosts:
        _free_name(interpreter, name)
    for index, (name, host) in enumerate(hosts.items()):
        source = host.source
        assert isinstance(source, CodeTensor)  # others are findings
        codes = builder.current(source.name)
        h, w, ch = source.shape
        bits = source.range.bits
        memory = builder.unique_tensor(f"{name}_host")
        builder.node(
            "OutputDMA", f"output_dma_{index}", [codes], [memory], h=h, w=w, ch=ch,
            code_bytes=next(b for b in (1, 2, 4) if bits <= 8 * b),
            signed=int(source.range.signed),
        )  # fmt: skip
        builder.describe(memory, (1, h, w, ch), source.range)
        shape = list(model.get_tensor_shape(name))
        builder.node(
            "DequantizeOutput", f"dequantize_output_{index}", [memory], [name],
            scales=[float(s) for s in source.scale], zero_points=list(source.zero),
            shape=[1, *_source_dims(source)], channels_last=int(source.channels_last),
            steps=json.dumps(host.steps) if host.steps else "",
            output_shape=shape or [1], output_type=host.dtype,
        )  # fmt: skip


def _source_dims(source: CodeTensor) -> list[int]:
    """Dimensions of one picture of a code tensor in the original's order."""
    h, w, ch = source.shape
    if source.flattened:
        return [h * w * ch]
    return [h, w, ch] if source.channels_last else [ch, h, w]


def _free_name(interpreter: Interpreter, name: str) -> None:
    """The original's output keeps its name, so a stream of that name takes another."""
    builder = interpreter.builder
    if builder.has_tensor(name):
        builder.rename(name, builder.unique_tensor(f"{name}_codes"))


def drop_unread(builder: HardwareGraphBuilder, outputs: set[str]) -> None:
    """Remove nodes whose results nobody reads."""
    wanted, kept = set(outputs), []
    for node in reversed(builder.nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    builder.nodes[:] = kept[::-1]


def insert_forks(builder: HardwareGraphBuilder) -> None:
    """One StreamFork for every tensor with several readers, right behind its producer."""
    for producer in list(builder.nodes):
        for tensor in producer.output:
            readers = [
                (node, index)
                for node in builder.nodes
                for index, name in enumerate(node.input)
                if name == tensor
            ]
            if len(readers) > 1:
                _fork(builder, producer, tensor, readers)


def _fork(
    builder: HardwareGraphBuilder,
    producer: NodeProto,
    tensor: str,
    readers: list[tuple[NodeProto, int]],
) -> None:
    copies = [f"{tensor}_copy{index}" for index in range(len(readers))]
    for copy, (node, index) in zip(copies, readers, strict=True):
        node.input[index] = copy
        builder.describe_like(copy, tensor)
    _, h, w, ch = builder.shape(tensor)
    builder.node(
        "StreamFork", f"{tensor}_fork", [tensor], copies, h=h, w=w, ch=ch, copies=len(copies)
    )
    fork = builder.nodes.pop()
    builder.nodes.insert(builder.nodes.index(producer) + 1, fork)
