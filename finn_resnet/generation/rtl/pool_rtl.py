"""Circuits of a StreamPool: windowed or of the whole picture, maximum or average."""

from __future__ import annotations

from finn_resnet.custom_ops.streams import window_columns
from finn_resnet.generation.rtl.circuit import Circuit, signed_bits
from finn_resnet.generation.rtl.elementwise_rtl import (
    CONTROL_CLOCKS,
    LaneTask,
    entry_of,
    masked_code,
    output_fifo,
    sized,
)
from finn_resnet.generation.rtl.registry import held_depth
from finn_resnet.generation.rtl.requant_rtl import ChannelEntry, requant_latency
from finn_resnet.generation.task_code import NodeContext
from finn_resnet.numerics.ranges import Range

_TOTAL_CLOCKS = 2


def pool_circuit(node: NodeContext) -> LaneTask | GlobalPool:
    """Module of a pool."""
    if node.op.get_nodeattr("windowed"):
        return _window_pool(node)
    return GlobalPool(node)


def _total_range(node: NodeContext) -> Range:
    """Range of the result; a sum or an absent lane passes 0, a maximum the codes alone."""
    return node.op.total_range(node.inputs[0].codes.including(0))


def _joined(node: NodeContext, a: str, b: str) -> str:
    """The greater one, or the sum."""
    if node.op.get_nodeattr("kind") == "average":
        return f"$signed({a}) + $signed({b})"
    return f"$signed({a}) > $signed({b}) ? {a} : {b}"


def _window_pool(node: NodeContext) -> LaneTask:
    """All taps of a window in a tree with a register behind every level."""
    circuit = Circuit(f"{node.name}_rtl")
    fh, fw, ow, ch_par, lanes = node.op.attrs("fh", "fw", "ow", "ch_par", "ow_par")
    stride = node.op.get_nodeattr("stride")[1]
    columns = window_columns(fw, lanes, stride)
    codes, total = node.inputs[0].codes, _total_range(node)
    bits = signed_bits(total)
    circuit.stream_port("input", "window", codes.bits * fh * columns * ch_par)
    circuit.wire("taps_valid", lanes, f"{{{lanes}{{window_valid}}}}")
    circuit.wire("taps_ready", lanes)
    task = LaneTask(circuit, node, lanes, ["taps"], ow)
    circuit.assign("window_ready", "|taps_ready")

    def code_at(lane: int, entry: int, row: int, column: int) -> str:
        place = (row * columns + lane * stride + column) * ch_par + entry
        low = place * codes.bits
        tap = circuit.wire("tap", codes.bits, f"window_data[{low + codes.bits - 1}:{low}]")
        return circuit.wire("tap_value", bits, sized(tap, codes, bits), signed=True)

    def value(lane: int, entry: int) -> str:
        found = [code_at(lane, entry, i, j) for i in range(fh) for j in range(fw)]
        for _ in range((fh * fw - 1).bit_length()):
            pairs = zip(found[::2], found[1::2], strict=False)
            joined = [circuit.wire("joined", bits, _joined(node, a, b)) for a, b in pairs]
            found = [
                circuit.delayed(name, bits, 1) for name in joined + found[2 * (len(found) // 2) :]
            ]
        return found[0]

    task.finish(total, value, clocks=(fh * fw - 1).bit_length())
    return task


class GlobalPool:
    """Pool of the whole picture: a step's lanes in one clock, the running total in the next."""

    def __init__(self, node: NodeContext) -> None:
        self.circuit = circuit = Circuit(f"{node.name}_rtl")
        self.node, self.out, self.requant = node, node.outputs[0], node.op.requantiser()
        self.channels, self.ch_par, self.lanes = node.op.attrs("ch", "ch_par", "ow_par")
        self.groups = ChannelEntry(self.channels, self.ch_par, 0).groups
        self.group_bits = max((self.groups - 1).bit_length(), 1)
        self.codes, self.total = node.inputs[0].codes, _total_range(node)
        circuit.stream_port("input", "in", self.codes.bits * self.ch_par, self.lanes)
        circuit.stream_port("output", "out", self.out.codes.bits * self.ch_par, 1)
        self.group = circuit.wire("group", self.group_bits)
        names = ("room", "step", "takes", "first", "last")
        for name in names:
            circuit.wire(name, self.lanes if name == "takes" else 1)
        height, width = node.op.attrs("ih", "iw")
        circuit.instance(
            "pool_control",
            "control",
            {"H": height, "W": width, "LANES": self.lanes, "GROUPS": self.groups},
            {"in_valid": "in_valid", "in_ready": "in_ready", "group": self.group}
            | {name: name for name in names},
        )
        codes = [
            masked_code(self, self._entry(entry), self.total, entry, _TOTAL_CLOCKS)
            for entry in range(self.ch_par)
        ]
        late = _TOTAL_CLOCKS + requant_latency(self.requant)
        self.pipeline = (late, late + CONTROL_CLOCKS)
        finishes = circuit.wire("finishes", 1, "step & last")
        output_fifo(
            circuit,
            0,
            f"{{{', '.join(reversed(codes))}}}",
            circuit.delayed(finishes, 1, late, cleared=True),
            held_depth(self.out.depth) + late + CONTROL_CLOCKS,
            self.out.codes.bits * self.ch_par,
            room="room",
            reserve=finishes,
        )

    def _entry(self, entry: int) -> str:
        """Total of an entry, two clocks after the step."""
        circuit, bits = self.circuit, signed_bits(self.total)
        average = self.node.op.get_nodeattr("kind") == "average"
        absent = 0 if average else self.codes.lo
        literal = f"{bits}'h{absent & ((1 << bits) - 1):x}"
        joined = ""
        for lane in range(self.lanes):
            value = entry_of(circuit, "in", self.codes, lane, entry, bits)
            taken = circuit.wire("taken", bits, f"takes[{lane}] ? {value} : {literal}")
            joined = (
                circuit.wire("joined", bits, _joined(self.node, joined, taken)) if joined else taken
            )
        total = circuit.wire("total", bits, signed=True)
        circuit.instance(
            "running_total",
            f"total{entry}",
            {"BITS": bits, "GROUPS": self.groups, "MAXIMUM": int(not average)},
            {
                "step": circuit.delayed("step", 1, 1, cleared=True),
                "first": circuit.delayed("first", 1, 1),
                "group": circuit.delayed(self.group, self.group_bits, 1),
                "x": circuit.delayed(joined, bits, 1),
                "total": total,
            },
            "clk",
        )
        return total
