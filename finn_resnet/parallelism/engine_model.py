"""Cycles and resources of one engine as a function of its factors, task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod
from typing import Protocol

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.boards import Resources, total
from finn_resnet.custom_ops import ParameterStream
from finn_resnet.custom_ops.base import SearchRole
from finn_resnet.numerics.dsp_packing import UNPACKED, chain_ends, tap_order
from finn_resnet.parallelism.conv_cost import (
    ConvFactors,
    ConvShape,
    conv_cost,
    conv_cycles,
    embedded_parameter_cost,
    parameter_cost,
)
from finn_resnet.parallelism.costs import cost_of, costs
from finn_resnet.parallelism.grouped_conv_cost import (
    GroupedFactors,
    GroupedShape,
    grouped_conv_cost,
    grouped_conv_cycles,
)
from finn_resnet.parallelism.memory_cost import fifo_cost
from finn_resnet.parallelism.network import Engine
from finn_resnet.parallelism.node_shapes import (
    conv_operands,
    conv_shape,
    input_picture,
    picture,
    window_shape,
)
from finn_resnet.parallelism.stream_task_cost import Picture, dma_cost, dma_cycles, pool_cost
from finn_resnet.parallelism.window_cost import (
    WindowFactors,
    WindowShape,
    window_cost,
    window_cycles,
)
from finn_resnet.transformation.graph_edit import as_op
from finn_resnet.transformation.stream_profile import StreamProfile

_DEFAULT_DEPTH = 2
# Into how many cascades of equal length the search cuts a dot product.
_CHAIN_PARTS = (2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True)
class EngineFactors:
    """What is decided per engine.

    ``och_par`` and ``ich_par`` are equal for pools; the DMA has ``och_par`` codes per token in
    ``ow_par`` lanes. ``in_lanes`` divides ``ow_par`` times the horizontal stride.
    ``chain`` is how many DSPs a cascade has at most (0: as many as its sums allow).
    ``mem_styles`` has one entry per parameter task; ``link_style`` and ``buffer_style`` are the
    window buffer's, ``mem_mode`` says whether weights come over a stream.
    """

    och_par: int = 1
    ich_par: int = 1
    ow_par: int = 1
    in_lanes: int = 1
    mac_style: str = "dsp"
    mem_styles: tuple[str, ...] = ()
    link_style: str = "bram"
    buffer_style: str = "slices"
    mem_mode: str = "internal_decoupled"
    chain: int = 0

    @property
    def window(self) -> WindowFactors:
        """Those of the window buffer."""
        return WindowFactors(
            self.ich_par, self.ow_par, self.in_lanes, self.link_style, self.buffer_style
        )

    @property
    def sides(self) -> dict[str, StreamProfile]:
        """Layouts of the engine's two sides."""
        return {
            "in": StreamProfile(self.in_lanes, self.ich_par),
            "out": StreamProfile(self.ow_par, self.och_par),
        }


@dataclass(frozen=True)
class TaskCost:
    """Cost of one node: cycles per frame and resources, its non-picture streams included."""

    node: str
    cycles: int
    resources: Resources


def _group_counts(extent: int) -> set[int]:
    """Numbers of groups that an extent is cut into by some unroll factor."""
    return {ceil(extent / factor) for factor in range(1, extent + 1)}


@dataclass(frozen=True)
class ParameterShape:
    """Sizes of a parameter task: channels, taps and bits of a weight."""

    node: str
    och: int
    ich: int
    taps: int
    bits: int


@costs("StreamConv", SearchRole.ENGINE)
class ConvEngine:
    """A convolution with its window buffer and parameter tasks."""

    def __init__(self, model: ModelWrapper, engine: Engine) -> None:
        self.name = engine.name
        self.shape: ConvShape = conv_shape(model, engine.node)
        self.window: WindowShape = window_shape(model, engine.buffer)
        self._buffer_name = engine.buffer.name
        self.parameters = [_parameter_shape(as_op(node)) for node in engine.parameters]
        self._operands = conv_operands(model, engine.node)
        self._chains: dict[tuple[int, int], tuple[tuple[int, ...], ...]] = {}

    def chains(self, ich_par: int, longest: int) -> tuple[tuple[int, ...], ...]:
        """Where the cascades of ``ich_par`` input channels end that the weights allow."""
        key = ich_par, longest
        if key not in self._chains:
            self._chains[key] = tuple(
                chain_ends(
                    tap_order(weights, ich_par),
                    codes,
                    packing,
                    0 if packing == UNPACKED else longest,
                )
                for weights, codes, packing in self._operands
            )
        return self._chains[key]

    def conv_factors(self, factors: EngineFactors) -> ConvFactors:
        """Factors of the computation task, with the cascades its weights allow at ``ich_par``."""
        plain = factors.och_par, factors.ich_par, factors.ow_par, factors.mac_style
        return ConvFactors(*plain, *self.chains(factors.ich_par, factors.chain))

    def with_best_chain(self, factors: EngineFactors) -> EngineFactors:
        """``factors`` with the longest DSP cascades that take the fewest LUTs.

        A long cascade delays its operands longer, short ones need adders behind them. Nothing else
        depends on their length, so the choice is each engine's own.
        """
        if factors.mac_style != "dsp":
            return replace(factors, chain=0)
        taps = self.shape.taps * min(factors.ich_par, self.shape.ich)
        lengths = [0, *(ceil(taps / parts) for parts in _CHAIN_PARTS if parts < taps)]
        tried = [replace(factors, chain=length) for length in lengths]
        return min(tried, key=lambda f: self.own_cost(f).lut)

    def own_cost(self, factors: EngineFactors) -> Resources:
        """Resources of the computation task."""
        return conv_cost(self.shape, self.conv_factors(factors))

    def own_cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame of the computation task."""
        return conv_cycles(self.shape, self.conv_factors(factors))

    def cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame of the slowest of its tasks."""
        return max(self.own_cycles(factors), window_cycles(self.window, factors.window))

    @property
    def macs(self) -> int:
        """Multiply-accumulates per frame."""
        return self.shape.macs

    def cycle_counts(self) -> set[int]:
        """Cycles per frame that some factors give the computation task."""
        extents = (self.shape.ow, self.shape.och, self.shape.ich)
        return {self.shape.oh * prod(counts) for counts in product(*map(_group_counts, extents))}

    def tasks(self, factors: EngineFactors) -> Iterator[TaskCost]:
        """Cost of every task."""
        cycles = self.own_cycles(factors)
        yield TaskCost(self.name, cycles, self.own_cost(factors))
        yield _buffer_task(self.window, self._buffer_name, factors)
        for index, style in enumerate(factors.mem_styles):
            yield TaskCost(
                self.parameters[index].node, cycles, self.parameter_cost(index, factors, style)
            )

    def parameter_depth(self, index: int, factors: EngineFactors) -> int:
        """Words of parameter task ``index``."""
        shape = self.parameters[index]
        return ceil(shape.och / factors.och_par) * ceil(shape.ich / factors.ich_par)

    def parameter_cost(self, index: int, factors: EngineFactors, mem_style: str) -> Resources:
        """Memory of the weights ``index`` in ``mem_style``."""
        return memory_task(self.parameters[index], factors, mem_style)


@costs("StreamGroupedConv", SearchRole.ENGINE)
class GroupedConvEngine(ConvEngine):
    """A grouped convolution with its window buffer and parameter task; ``shape`` is a group's."""

    def __init__(self, model: ModelWrapper, engine: Engine) -> None:
        super().__init__(model, engine)
        self.grouped = GroupedShape(self.shape, as_op(engine.node).get_nodeattr("group"))

    def grouped_factors(self, factors: EngineFactors) -> GroupedFactors:
        """Factors of the computation task, with the cascades its weights allow."""
        ends = self.chains(self.shape.ich, factors.chain)[0]
        group_par = ceil(factors.och_par / self.shape.och)
        return GroupedFactors(group_par, factors.ow_par, factors.mac_style, ends)

    def own_cost(self, factors: EngineFactors) -> Resources:
        """Resources of the computation task."""
        return grouped_conv_cost(self.grouped, self.grouped_factors(factors))

    @property
    def macs(self) -> int:
        """Multiply-accumulates per frame."""
        return self.shape.macs * self.grouped.groups

    def cycle_counts(self) -> set[int]:
        """Cycles per frame that some factors give the computation task."""
        extents = (self.shape.ow, self.grouped.groups)
        return {self.shape.oh * prod(counts) for counts in product(*map(_group_counts, extents))}

    def own_cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame of the computation task."""
        return grouped_conv_cycles(self.grouped, self.grouped_factors(factors))

    def parameter_cost(self, index: int, factors: EngineFactors, mem_style: str) -> Resources:
        """Memory of the weights: a word holds whole kernels."""
        whole = replace(factors, ich_par=self.shape.ich)
        return super().parameter_cost(index, whole, mem_style)


@costs("StreamPool", SearchRole.ENGINE)
class PoolEngine:
    """A windowed pool with its window buffer."""

    parameters: tuple[ParameterShape, ...] = ()

    def __init__(self, model: ModelWrapper, engine: Engine) -> None:
        op = as_op(engine.node)
        self.name = engine.name
        self.window = window_shape(model, engine.buffer)
        self._buffer_name = engine.buffer.name
        self._picture: Picture = input_picture(model, engine.node)
        self._kind, self._requant = op.attrs("kind", "requant")

    def cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame: windows out or picture in, whichever is more."""
        return window_cycles(self.window, factors.window)

    def tasks(self, factors: EngineFactors) -> Iterator[TaskCost]:
        """Cost of every task."""
        cost = pool_cost(
            self._picture,
            factors.sides["out"],
            kind=self._kind,
            taps=self.window.fh * self.window.fw,
            windowed=True,
            requant=self._requant,
        )
        groups = ceil(self.window.ich / factors.ich_par)
        cycles = self.window.oh * ceil(self.window.ow / factors.ow_par) * groups
        yield TaskCost(self.name, cycles, cost)
        yield _buffer_task(self.window, self._buffer_name, factors)


@costs("InputDMA", SearchRole.ENGINE)
class InputEngine:
    """The input DMA: beats from memory to tokens of the first layers' layout."""

    parameters: tuple[ParameterShape, ...] = ()

    def __init__(self, model: ModelWrapper, engine: Engine) -> None:
        self.name = engine.name
        self.picture = picture(model, engine.node, 0)
        self._bytes, self._beat = as_op(engine.node).attrs("code_bytes", "beat_bytes")

    def cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame: beats or tokens, whichever is more."""
        return dma_cycles(self.picture, factors.sides["out"], self._bytes, self._beat)

    def tasks(self, factors: EngineFactors) -> Iterator[TaskCost]:
        """Cost of the DMA task."""
        cost = dma_cost(factors.sides["out"], self._bytes, self._beat)
        yield TaskCost(self.name, self.cycles(factors), cost)


class EngineModel(Protocol):
    """What the search asks of an engine; registered by ``@costs(op_type, SearchRole.ENGINE)``."""

    name: str
    parameters: Sequence[ParameterShape]

    def __init__(self, model: ModelWrapper, engine: Engine) -> None: ...

    def cycles(self, factors: EngineFactors) -> int:
        """Cycles per frame of the slowest of its tasks."""

    def tasks(self, factors: EngineFactors) -> Iterator[TaskCost]:
        """Cost of every task: the engine's own and those that serve it."""


def engine_model(model: ModelWrapper, engine: Engine) -> EngineModel:
    """The cost functions of ``engine``."""
    return cost_of(as_op(engine.node))(model, engine)


def engine_cost(engine: EngineModel, factors: EngineFactors) -> Resources:
    """Resources of all tasks of an engine."""
    return total(task.resources for task in engine.tasks(factors))


def _buffer_task(window: WindowShape, name: str, factors: EngineFactors) -> TaskCost:
    return TaskCost(name, *window_task(window, factors.window))


@costs("WindowBuffer", SearchRole.SERVED)
def window_task(window: WindowShape, factors: WindowFactors) -> tuple[int, Resources]:
    """Slices or rows, and the streams between them."""
    return window_cycles(window, factors), window_cost(window, factors)


@costs("ParameterStream", SearchRole.SERVED)
def memory_task(shape: ParameterShape, factors: EngineFactors, mem_style: str) -> Resources:
    """Memory of the weights in ``mem_style``, with task and stream if decoupled."""
    sizes = (shape.och, shape.ich, shape.taps, shape.bits, factors.och_par, factors.ich_par)
    if factors.mem_mode == "internal_embedded":
        return embedded_parameter_cost(*sizes, mem_style)
    width = factors.och_par * factors.ich_par * shape.taps * shape.bits
    return parameter_cost(*sizes, mem_style) + fifo_cost(_DEFAULT_DEPTH, width)


def _parameter_shape(op: ParameterStream) -> ParameterShape:
    och, ich, fh, fw, bits = op.attrs("och", "ich", "fh", "fw", "bits")
    return ParameterShape(op.onnx_node.name, och, ich, fh * fw, bits)
