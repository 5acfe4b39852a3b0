"""A hardware graph as SystemVerilog: one instance for each node, a FIFO for each stream between."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops import InputDMA, OutputDMA, ParameterStream
from finn_resnet.custom_ops.base import HardwareOp
from finn_resnet.errors import UserError
from finn_resnet.generation.edges import Edge, collect_edges
from finn_resnet.generation.network import (
    boundary_ports,
    hardware_ops,
    read_constant,
    window_wires,
)
from finn_resnet.generation.project_file import ProjectPort
from finn_resnet.generation.rtl import conv_node, stream_rtl  # noqa: F401  register generators
from finn_resnet.generation.rtl.circuit import Circuit
from finn_resnet.generation.rtl.registry import RtlNode, refused, rtl_node
from finn_resnet.generation.task_code import BEAT_BYTES, NodeContext

PROBED = ("activation", "skip")
"""Kinds of the streams that carry quantised tensors."""

# Tokens that a FIFO of each kind holds at most; longer ones of few bits chain LUTRAMs.
_REGISTER_DEPTH = 2
_SRL_DEPTH = 16
LUTRAM_DEPTH = 64
_LUTRAM_BITS = 2048


@dataclass(frozen=True)
class RtlNetwork:
    """Sources of an accelerator: the top module, the nodes' own ones, and memory files by name."""

    top: str
    sources: dict[str, str]
    memories: dict[str, str]
    inputs: list[ProjectPort]
    outputs: list[ProjectPort]
    edges: list[Edge]
    nodes: list[tuple[NodeContext, RtlNode]]

    @property
    def probed(self) -> list[Edge]:
        """Streams that a build with probes shows, on ports ``<stream>_probe``."""
        return [edge for edge in self.edges if edge.kind in PROBED]

    def write(self, folder: Path) -> list[Path]:
        """Write everything, with a copy of the library, into ``folder``; the sources written."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.sources, **self.memories}.items():
            (folder / name).write_text(text, encoding="utf-8")
        for path in library_files():
            shutil.copy(path, folder / path.name)
        return [folder / name for name in self.sources]


def library_files() -> list[Path]:
    """Files of the SystemVerilog library."""
    library = Path(str(files("finn_resnet.rtl")))
    return sorted(path for path in library.iterdir() if path.suffix in (".sv", ".svh"))


def fifo_module(depth: int, width: int) -> str:
    """The library's FIFO that holds ``depth`` tokens of ``width`` bits with the least hardware."""
    if depth <= _REGISTER_DEPTH:
        return "fifo_register"
    if depth <= _SRL_DEPTH:
        return "fifo_srl"
    if depth <= LUTRAM_DEPTH or depth * width <= _LUTRAM_BITS:
        return "fifo_lutram"
    return "fifo_bram"


def build_rtl(model: ModelWrapper, top: str, probes: bool = False) -> RtlNetwork:
    """The RTL of a hardware graph.

    Args:
        model: hardware graph.
        top: name of the top module.
        probes: add ports ``<stream>_probe`` that show every token written to an activation stream.

    Raises:
        UserError: operators or attribute values without RTL, all of them at once.
    """
    ops = hardware_ops(model)
    edges = collect_edges(model, ops)
    inputs, outputs = (boundary_ports(model, ops, kind) for kind in (InputDMA, OutputDMA))
    ports = {port.node: port.name for port in [*inputs, *outputs]}
    wires = window_wires(ops)
    contexts = [
        NodeContext(
            op=op,
            inputs=[edges.get(wires.get(name, name)) for name in op.onnx_node.input],
            outputs=[edges.get(name) for name in op.onnx_node.output],
            streams={},
            read=partial(read_constant, model),
            probe_id=0,
            port=ports.get(op.onnx_node.name, ""),
        )
        for op in ops
        if not _absent(op, wires)
    ]
    problems = [reason for context in contexts for reason in refused(context)]
    if problems:
        raise UserError("; ".join(problems))
    nodes = [(context, rtl_node(context)) for context in contexts]
    sources = {f"{node.module}.sv": node.text for _, node in nodes if node.text}
    sources[f"{top}_core.sv"] = _Core(f"{top}_core", nodes, [*inputs, *outputs], probes).text()
    shown = [edge for edge in edges.values() if probes and edge.kind in PROBED]
    sources[f"{top}.sv"] = _axi_wrapper(top, inputs, outputs, shown)
    memories = {name: text for _, node in nodes for name, text in node.files.items()}
    return RtlNetwork(top, sources, memories, inputs, outputs, list(edges.values()), nodes)


def _absent(op: HardwareOp, wires: dict[str, str]) -> bool:
    """Nodes without hardware: a window that is its input, weights inside a convolution."""
    embedded = isinstance(op, ParameterStream) and op.is_embedded
    return embedded or op.onnx_node.output[0] in wires


class _Core:
    """The module that joins all nodes; its ports are streams of beats."""

    def __init__(
        self,
        name: str,
        nodes: list[tuple[NodeContext, RtlNode]],
        ports: list[ProjectPort],
        probes: bool,
    ) -> None:
        self._circuit = Circuit(name)
        self._nodes = nodes
        self._names = [port.name for port in ports]
        self._probes = probes

    def text(self) -> str:
        """Source of the module."""
        for context, node in self._nodes:
            if node.axi:
                self._beats(context, node)
            for port, positions in node.outputs.items():
                for position in positions:
                    edge = context.outputs[position]
                    self._stream(edge, edge.depth <= node.holds.get(port, 0))
        for context, node in self._nodes:
            self._instance(context, node)
        return self._circuit.text()

    def _beats(self, context: NodeContext, node: RtlNode) -> None:
        bits = 8 * BEAT_BYTES
        if isinstance(context.op, InputDMA):
            self._circuit.stream_port("input", node.axi, bits)
        elif isinstance(context.op, OutputDMA):
            self._circuit.stream_port("output", node.axi, bits + 1)

    def _stream(self, edge: Edge, held: bool) -> None:
        """Wires of both sides of a stream, and what lies between."""
        circuit, lanes, width = self._circuit, stream_lanes(edge), stream_width(edge)
        for side in ("w", "r"):
            for end, bits in (("valid", lanes), ("ready", lanes), ("data", lanes * width)):
                circuit.wire(f"{edge.stream}_{side}_{end}", bits)
        write, read = f"{edge.stream}_w", f"{edge.stream}_r"
        if held:
            circuit.assign(f"{read}_valid", f"{write}_valid")
            circuit.assign(f"{read}_data", f"{write}_data")
            circuit.assign(f"{write}_ready", f"{read}_ready")
        for lane in range(0 if held else lanes):
            part = f"[{(lane + 1) * width - 1}:{lane * width}]"
            connections = {
                f"{port}_{end}": f"{side}_{end}{part if end == 'data' else f'[{lane}]'}"
                for port, side in (("in", write), ("out", read))
                for end in ("valid", "ready", "data")
            }
            circuit.instance(
                fifo_module(edge.depth, width),
                f"{edge.stream}_fifo{lane}",
                {"WIDTH": width, "DEPTH": edge.depth},
                connections,
            )
        if self._probes and edge.kind in PROBED:
            probe = f"{edge.stream}_probe"
            circuit.port("output", f"{probe}_valid", lanes)
            circuit.port("output", f"{probe}_data", width, lanes)
            circuit.assign(f"{probe}_valid", f"{write}_valid & {write}_ready")
            circuit.assign(f"{probe}_data", f"{write}_data")

    def _instance(self, context: NodeContext, node: RtlNode) -> None:
        connections: dict[str, str] = {}
        for port, position in node.inputs.items():
            for end in ("valid", "ready", "data"):
                connections[f"{port}_{end}"] = f"{context.inputs[position].stream}_r_{end}"
        for port, positions in node.outputs.items():
            edges = [context.outputs[position] for position in reversed(positions)]
            for end in ("valid", "ready", "data"):
                joined = ", ".join(f"{edge.stream}_w_{end}" for edge in edges)
                connections[f"{port}_{end}"] = f"{{{joined}}}"
        if node.axi:
            port = "in" if isinstance(context.op, InputDMA) else "out"
            for end in ("valid", "ready", "data"):
                connections[f"{port}_{end}"] = f"{node.axi}_{end}"
        if node.module == "window_buffer" and "forward" not in node.outputs:
            connections |= self._no_forward(context)
        name = f"{context.name}_task"
        self._circuit.instance(node.module, name, node.parameters, connections)

    def _no_forward(self, context: NodeContext) -> dict[str, str]:
        lanes, width = stream_lanes(context.inputs[0]), stream_width(context.inputs[0])
        unread = {
            end: self._circuit.wire(f"{context.name}_unread_{end}", bits)
            for end, bits in (("valid", lanes), ("data", lanes * width))
        }
        return {f"forward_{end}": name for end, name in unread.items()} | {
            "forward_ready": f"{{{lanes}{{1'b1}}}}"
        }


def stream_lanes(edge: Edge) -> int:
    """Streams of an edge; a window travels whole."""
    return 1 if edge.kind in ("window", "parameter") else max(edge.layout.lanes, 1)


def stream_width(edge: Edge) -> int:
    """Bits of a token of a lane."""
    return edge.layout.entries * edge.codes.bits if edge.kind == "window" else edge.width_bits


def _axi_wrapper(
    top: str, inputs: list[ProjectPort], outputs: list[ProjectPort], shown: list[Edge]
) -> str:
    """The accelerator with AXI4-Stream ports, clock and reset as the HLS back end names them.

    ``shown`` streams have a port ``<stream>_probe`` besides.
    """
    ports = ["input wire ap_clk", "input wire ap_rst_n"]
    ends = [".clk(ap_clk)", ".rst"]
    body = []
    for port, is_input in [*((p, True) for p in inputs), *((p, False) for p in outputs)]:
        to, back = ("input", "output") if is_input else ("output", "input")
        name, bits = port.name, 8 * BEAT_BYTES
        ports += [f"{to} wire [{bits - 1}:0] {name}_TDATA", f"{to} wire {name}_TVALID"]
        ports += [f"{back} wire {name}_TREADY", f"{to} wire [0:0] {name}_TLAST"]
        ports += [f"{to} wire [{BEAT_BYTES - 1}:0] {name}_T{side}" for side in ("KEEP", "STRB")]
        data = f"{name}_TDATA" if is_input else f"{{{name}_TLAST, {name}_TDATA}}"
        made, given = ("ready", "valid") if is_input else ("valid", "ready")
        body.append(f"  wire {name}_{made};")
        body.append(f"  assign {name}_T{made.upper()} = {name}_{made} & ~rst;")
        ends += [f".{name}_{made}({name}_{made})", f".{name}_data({data})"]
        ends.append(f".{name}_{given}({name}_T{given.upper()} & ~rst)")
        if is_input:
            sides = ", ".join(f"{name}_T{side}" for side in ("LAST", "KEEP", "STRB"))
            body.append(f"  wire {name}_unused = &{{1'b0, {sides}}};")
    for edge in shown:
        lanes, width = stream_lanes(edge), stream_width(edge)
        ports.append(f"output wire [{lanes - 1}:0] {edge.stream}_probe_valid")
        ports.append(f"output wire [{lanes - 1}:0][{width - 1}:0] {edge.stream}_probe_data")
        ends += [f".{edge.stream}_probe_{end}" for end in ("valid", "data")]
    body += [f"  assign {p.name}_T{side} = '1;" for p in outputs for side in ("KEEP", "STRB")]
    lines = [
        f"module {top} (",
        "    " + ",\n    ".join(ports),
        ");",
        "  // One register for all, so that the reset's own path is short; until it has passed,",
        "  // no beat does.",
        "  logic rst;",
        "  always_ff @(posedge ap_clk) rst <= ~ap_rst_n;",
        *body,
        f"  {top}_core core (",
        "      " + ",\n      ".join(ends),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"
