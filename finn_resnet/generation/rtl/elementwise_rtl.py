"""Circuits of the nodes that keep the picture's shape and compute: addition, requantisation.

An iteration passes a pipeline that nothing stops; its results have room in the output FIFO before
it starts (`conv_output`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from finn_resnet.generation.rtl.circuit import Circuit, signed_bits
from finn_resnet.generation.rtl.registry import held_depth
from finn_resnet.generation.rtl.requant_rtl import ChannelEntry, requant_latency, requantise
from finn_resnet.generation.task_code import NodeContext
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser

CONTROL_CLOCKS = 2
"""Clocks from a slot's release to the next use of it, beyond the pipeline's."""


class LaneTask:
    """The control, lanes and output FIFO of a task with one result for each lane and step.

    Args:
        circuit: the module, its input ports there.
        node: sizes; ``lanes`` and ``ch_par`` of the output.
        depth: tokens the output holds for each lane besides those on their way.
    """

    def __init__(
        self, circuit: Circuit, node: NodeContext, lanes: int, inputs: Sequence[str], width: int
    ) -> None:
        self.circuit = circuit
        self.lanes = lanes
        self.out = node.outputs[0]
        self.requant: Requantiser = node.op.requantiser()
        ch, ch_par = node.op.attrs("ch", "ch_par")
        self.channels, self.ch_par = ch, ch_par
        groups = ChannelEntry(ch, ch_par, 0).groups
        self.groups = groups
        self.group_bits = max((groups - 1).bit_length(), 1)
        self.pipeline = (0, 0)
        self.room = circuit.wire("room", lanes)
        self.starts = circuit.wire("starts", lanes)
        self.group = circuit.wire("group", self.group_bits)
        joined = circuit.wire("in_ready_all", lanes * len(inputs))
        circuit.instance(
            "lane_control",
            "control",
            {"W": width, "LANES": lanes, "GROUPS": groups, "INPUTS": len(inputs)},
            {
                "in_valid": f"{{{', '.join(f'{name}_valid' for name in reversed(inputs))}}}",
                "in_ready": joined,
                "room": self.room,
                "starts": self.starts,
                "group": self.group,
            },
        )
        for index, name in enumerate(inputs):
            circuit.assign(f"{name}_ready", f"{joined}[{(index + 1) * lanes - 1}:{index * lanes}]")

    def finish(
        self, total: Range, value: Callable[[int, int], str], clocks: int, late_first: bool = False
    ) -> None:
        """Requantise ``value(lane, entry)``, ready ``clocks`` after the start, into the output."""
        late = clocks + requant_latency(self.requant)
        bits = self.out.codes.bits
        self.circuit.stream_port("output", "out", bits * self.ch_par, self.lanes)
        self.pipeline = (late, late + CONTROL_CLOCKS)
        depth = held_depth(self.out.depth) + late + CONTROL_CLOCKS
        for lane in range(self.lanes):
            codes = [
                masked_code(self, value(lane, entry), total, entry, clocks)
                for entry in range(self.ch_par)
            ]
            write = self.circuit.delayed(self.starts, self.lanes, late, cleared=True)
            output_fifo(
                self.circuit,
                lane,
                f"{{{', '.join(reversed(codes))}}}",
                write,
                depth,
                bits * self.ch_par,
                room=f"{self.room}[{lane}]",
                reserve=f"{self.starts}[{lane}]",
            )


def masked_code(task, signal: str, total: Range, entry: int, clocks: int) -> str:
    """Code of an entry; 0 where the channel does not exist."""
    circuit = task.circuit

    def group(late: int) -> str:
        return circuit.delayed(task.group, task.group_bits, clocks + late)

    channel = ChannelEntry(task.channels, task.ch_par, entry)
    code, codes = requantise(circuit, task.requant, signal, total, channel, group)
    bits = task.out.codes.bits
    wide = circuit.wire(f"code{entry}", bits, sized(code, codes, bits))
    if (task.groups - 1) * task.ch_par + entry < task.channels:
        return wide
    late = group(requant_latency(task.requant))
    return circuit.wire(f"code{entry}", bits, f"{late} == {task.groups - 1} ? {bits}'d0 : {wide}")


def sized(signal: str, codes: Range, bits: int) -> str:
    """``signal``, which holds ``codes`` in as many bits as they need, in ``bits`` bits."""
    if codes.bits >= bits:
        return f"{signal}[{bits - 1}:0]"
    fill = f"{signal}[{codes.bits - 1}]" if codes.signed else "1'b0"
    return f"{{{{{bits - codes.bits}{{{fill}}}}}, {signal}}}"


def output_fifo(
    circuit: Circuit,
    lane: int,
    data: str,
    write: str,
    depth: int,
    width: int,
    *,
    room: str,
    reserve: str,
) -> None:
    """The output of a lane, whose places are reserved when iterations start."""
    circuit.instance(
        "conv_output",
        f"output{lane}",
        {"WIDTH": width, "DEPTH": depth},
        {
            "reserve": reserve,
            "room": room,
            "write": f"{write}[{lane}]",
            "data": data,
            "out_valid": f"out_valid[{lane}]",
            "out_ready": f"out_ready[{lane}]",
            "out_data": f"out_data[{lane}]",
        },
    )


def entry_of(circuit: Circuit, port: str, codes: Range, lane: int, entry: int, bits: int) -> str:
    """Signed signal of ``bits`` bits: an entry of a port's token."""
    low = entry * codes.bits
    code = circuit.wire(
        f"{port}_code", codes.bits, f"{port}_data[{lane}][{low + codes.bits - 1}:{low}]"
    )
    return circuit.wire(f"{port}_value", bits, sized(code, codes, bits), signed=True)


def add_circuit(node: NodeContext) -> LaneTask:
    """The residual addition and the requantisation of its sum."""
    circuit = Circuit(f"{node.name}_rtl")
    ch_par, lanes, width = node.op.attrs("ch_par", "lanes", "w")
    factors = node.op.factors_of_operands()
    operands = [edge.codes.including(0) for edge in node.inputs]
    total = node.op.total_range(*operands)
    bits = signed_bits(total)
    for name, edge in zip("ab", node.inputs, strict=True):
        circuit.stream_port("input", name, edge.codes.bits * ch_par, lanes)
    task = LaneTask(circuit, node, lanes, ["a", "b"], width)
    constants = [f"{'-' * (f < 0)}{max(bits, abs(f).bit_length() + 1)}'sd{abs(f)}" for f in factors]

    def value(lane: int, entry: int) -> str:
        values = [
            entry_of(circuit, name, edge.codes, lane, entry, bits)
            for name, edge in zip("ab", node.inputs, strict=True)
        ]
        terms = [f"({signal} * {f})" for signal, f in zip(values, constants, strict=True)]
        total_now = circuit.wire("total", bits, " + ".join(terms), signed=True)
        return circuit.delayed(total_now, bits, 1)

    task.finish(total, value, clocks=1)
    return task


def requant_circuit(node: NodeContext) -> LaneTask:
    """Requantisation of every code."""
    circuit = Circuit(f"{node.name}_rtl")
    ch_par, lanes, width = node.op.attrs("ch_par", "lanes", "w")
    codes = node.inputs[0].codes
    circuit.stream_port("input", "in", codes.bits * ch_par, lanes)
    task = LaneTask(circuit, node, lanes, ["in"], width)
    bits = signed_bits(codes)

    def value(lane: int, entry: int) -> str:
        return circuit.delayed(entry_of(circuit, "in", codes, lane, entry, bits), bits, 1)

    task.finish(codes, value, clocks=1)
    return task
