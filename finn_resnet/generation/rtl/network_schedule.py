"""The timing of an RTL network, for ``rtl/simulation/schedule.cpp``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from finn_resnet.generation.edges import Edge
from finn_resnet.generation.project_file import ProjectPort
from finn_resnet.generation.rtl.registry import RtlNode
from finn_resnet.generation.rtl.rtl_network import (
    LUTRAM_DEPTH,
    RtlNetwork,
    fifo_module,
    stream_lanes,
    stream_width,
)
from finn_resnet.generation.rtl.schedule import LaneEnd, ScheduledStream, Step, Steps
from finn_resnet.generation.task_code import BEAT_BYTES, NodeContext

UNLIMITED = 1 << 40
"""A depth no run reaches."""

_NONE: Mapping[str, int] = MappingProxyType({})


def _fifo_elements(depth: int, width: int) -> tuple[tuple[str, int], ...]:
    """What the timing of that FIFO consists of; one longer than any run stands for no limit."""
    module = fifo_module(depth, width)
    if depth >= UNLIMITED or module in ("fifo_register", "fifo_srl"):
        return (("f", depth),)
    if module == "fifo_bram":
        return (("b", depth),)
    whole, rest = divmod(depth - 1, LUTRAM_DEPTH)
    return (("f", LUTRAM_DEPTH),) * whole + (("f", rest + 1),)


def network_schedule(
    network: RtlNetwork, depths: Mapping[str, int] = _NONE, spread: Mapping[str, int] = _NONE
) -> str:
    """The timing of a network for ``rtl/simulation/schedule.cpp``.

    Args:
        network: the network.
        depths: stream -> tokens, in place of the network's own; `UNLIMITED` for no limit.
        spread: input port -> clocks over which its frames' beats are spaced evenly.
    """
    return _Timing(network, depths, spread).text()


class _Timing:
    """Writes the streams, then the tasks, readers before writers."""

    def __init__(
        self, network: RtlNetwork, depths: Mapping[str, int], spread: Mapping[str, int]
    ) -> None:
        self._network, self._depths, self._spread = network, depths, spread
        self._streams: list[ScheduledStream] = []
        self._number: dict[str, int] = {}

    def text(self) -> str:
        """The whole file."""
        network = self._network
        for port in network.inputs:
            self._add(ScheduledStream(port.name, 1, (("r", 1),), own=1), port.name)
        for port in network.outputs:
            self._add(ScheduledStream(port.name, UNLIMITED, (("f", UNLIMITED),)), port.name)
        for context, node in network.nodes:
            for name, positions in node.outputs.items():
                for position in positions:
                    self._stream(context.outputs[position], node, name)
        tasks = [
            *(self._memory(port, gives=True) for port in network.inputs),
            *(
                node.schedule.text(context.name, self._ends(context, node))
                for context, node in network.nodes
                if node.schedule is not None
            ),
            *(self._memory(port, gives=False) for port in network.outputs),
        ]
        return "\n".join([*(stream.text for stream in self._streams), *reversed(tasks)]) + "\n"

    def _memory(self, port: ProjectPort, *, gives: bool) -> str:
        """The memory side of a port: a beat in every clock in which there is room or one."""
        end: tuple[LaneEnd, ...] = ((port.name, 0),)
        beat = Step((), end) if gives else Step(end, ())
        steps = Steps(1, [(1, [(beat, -(-port.frame_bytes // BEAT_BYTES))])])
        numbers = {end[0]: self._number[port.name]}
        return steps.text(port.name, numbers, self._spread.get(port.name, 0))

    def _add(self, stream: ScheduledStream, name: str) -> None:
        self._number.setdefault(name, len(self._streams))
        self._streams.append(stream)

    def _stream(self, edge: Edge, node: RtlNode, port: str) -> None:
        if edge.kind == "parameter":
            return
        depth = self._depths.get(edge.stream, edge.depth)
        held = depth <= node.holds.get(port, 0)
        fifo = () if held else _fifo_elements(depth, stream_width(edge))
        late, room = node.pipeline.get(port, (0, 0))
        own: tuple[tuple[str, int], ...] = ()
        places = uncounted = 0
        if room:
            places = room + (depth if held else 0)
            stages, rest = divmod(places - 1, LUTRAM_DEPTH)
            srl = places <= 2 * LUTRAM_DEPTH
            own = (("f", places),) if srl else (("f", LUTRAM_DEPTH),) * stages + (("f", rest + 1),)
            uncounted = room
        elif port in node.holds:
            own, uncounted = (("r", 1),), 0 if held else 1
        for lane in range(stream_lanes(edge)):
            stream = ScheduledStream(
                _lane_name(edge, lane), depth, own + fifo, len(own), places, late, uncounted
            )
            self._add(stream, edge.stream)

    def _ends(self, context: NodeContext, node: RtlNode) -> dict[LaneEnd, int]:
        """Number of the stream behind every lane of a module's ports."""
        ends = {(node.axi, 0): self._number[node.axi]} if node.axi else {}
        sides = [(port, (position,), context.inputs) for port, position in node.inputs.items()]
        sides += [(port, positions, context.outputs) for port, positions in node.outputs.items()]
        for port, positions, edges in sides:
            numbers = [
                self._number[edges[position].stream] + lane
                for position in positions
                if edges[position].kind != "parameter"
                for lane in range(stream_lanes(edges[position]))
            ]
            ends |= {(port, lane): number for lane, number in enumerate(numbers)}
        return ends


def _lane_name(edge: Edge, lane: int) -> str:
    return f"{edge.stream}_{lane}"
