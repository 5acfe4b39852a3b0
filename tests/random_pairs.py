"""Random pairs of a layer and its unroll factors, many side by side in one graph.

A pair is a chain of its own from input DMA to output DMA: pairs of one graph share an executable
and nothing else. Factors divide the layer's sizes or not, and neighbours have unequal layouts, so
width adapters stand between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from finn_resnet.numerics.ranges import Range
from tests.stream_graphs import INT8, UINT8, Edge, FusedGraph, StreamGraph, shift_to

KINDS = (
    *("conv", "conv", "grouped", "skip", "downsample", "residual", "pool", "global_pool"),
    "concat",
)
MAX_CHANNELS = 12
MAX_SIZE = 12
MAX_TAPS = 100
"""Of a window's multipliers per channel: wider ones are compiled for long."""

_CODES = (UINT8, INT8, Range(0, 15), Range(-8, 7))


@dataclass(frozen=True)
class Pair:
    """One drawn pair: ``nodes`` of the graph, its ports by number, and what was drawn in words."""

    name: str
    kind: str
    text: str
    nodes: frozenset[str]
    inputs: range
    outputs: range


@dataclass(frozen=True)
class _Layer:
    """Geometry of a windowed layer and the factors of its window buffer."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int]
    size: tuple[int, int]
    ow_par: int
    in_lanes: int

    @property
    def out_size(self) -> tuple[int, int]:
        top, left, bottom, right = self.pads
        (h, w), (fh, fw), (sh, sw) = self.size, self.kernel, self.stride
        return (h + top + bottom - fh) // sh + 1, (w + left + right - fw) // sw + 1


def random_pair(graph: StreamGraph, name: str) -> Pair:
    """Append a pair to ``graph``, drawn from its generator."""
    nodes, ports = graph.node_names(), graph.port_counts()
    kind = str(graph.rng.choice(KINDS))
    text = _KINDS[kind](graph, name)
    inputs, outputs = map(range, ports, graph.port_counts())
    added = frozenset(graph.node_names()[len(nodes) :])
    return Pair(name, kind, f"{kind} {text}", added, inputs, outputs)


def _pick(graph: StreamGraph, *options):
    return options[int(graph.rng.integers(len(options)))]


def _up_to(graph: StreamGraph, limit: int) -> int:
    return int(graph.rng.integers(1, limit + 1))


def _factor(graph: StreamGraph, limit: int) -> int:
    """Any legal factor, small ones more often: else adapters and ports are most often slowest."""
    return _up_to(graph, _pick(graph, limit, min(limit, 3)))


def _size(graph: StreamGraph, least: int = 2) -> tuple[int, int]:
    h, w = graph.rng.integers(least, MAX_SIZE + 1, 2)
    return int(h), int(w)


def _layer(graph: StreamGraph, size: tuple[int, int], *, same_size: bool = False) -> _Layer:
    """A random window over a picture; ``same_size`` gives an output as large as the input."""
    kernel = _pick(graph, 1, 1, 3, 3, 5)
    if same_size or kernel > min(size):
        stride, pads = (1, 1), (kernel // 2,) * 4
    else:
        stride = tuple(int(s) for s in graph.rng.integers(1, 3, 2))
        pads = tuple(int(p) for p in graph.rng.integers(0, kernel, 4))
    ow = (size[1] + pads[1] + pads[3] - kernel) // stride[1] + 1
    ow_par = _factor(graph, min(ow, MAX_TAPS // kernel**2))
    lanes = [n for n in range(1, size[1] + 1) if (ow_par * stride[1]) % n == 0]
    return _Layer((kernel, kernel), stride, pads, size, ow_par, int(graph.rng.choice(lanes)))


def _input(graph: StreamGraph, shape, codes: Range | None = None) -> Edge:
    """An input port; most often with whole pixels as tokens, so that it is not the bottleneck."""
    ch_par = shape[2] if graph.rng.random() < 0.7 else _up_to(graph, shape[2])
    lanes = _up_to(graph, min(4, shape[1]))
    return graph.input(shape, codes or _pick(graph, *_CODES), lanes=lanes, ch_par=ch_par)


def _output(graph: StreamGraph, x: Edge) -> None:
    """An output port, often behind an adapter to another layout."""
    if graph.rng.random() < 0.5:
        lanes = _up_to(graph, min(4, x.shape[1]))
        x = graph.adapt(x, lanes, _pick(graph, x.shape[2], _up_to(graph, x.shape[2])))
    graph.output(x)


def _conv(graph: StreamGraph, name: str, x: Edge, och: int, layer: _Layer, **options) -> list[Edge]:
    """A convolution of random factors over ``layer``."""
    ich = x.shape[2]
    factors = (_factor(graph, och), _factor(graph, ich), layer.ow_par)
    return graph.conv(
        name,
        x,
        graph.random_weights(och, *layer.kernel, ich, bits=_pick(graph, 4, 8)),
        stride=layer.stride,
        pads=layer.pads,
        factors=factors,
        in_lanes=layer.in_lanes,
        out=_pick(graph, UINT8, INT8),
        mac_style=_pick(graph, "dsp", "lut"),
        link_style=_pick(graph, "bram", "lut"),
        **options,
    )


def _text(graph: StreamGraph, name: str, layer: _Layer, x: Edge) -> str:
    """The pair in words; the factors are read from the node, as (channels out, in, columns)."""
    node, buffer = graph.attributes(name), graph.attributes(f"{name}_buffer")
    factors = [node.get(key, node.get("ch_par")) for key in ("och_par", "ich_par", "ow_par")]
    return (
        f"{x.shape} by {layer.kernel[0]}x{layer.kernel[1]} stride {layer.stride} pads {layer.pads} "
        f"to {node.get('och', x.shape[2])} channels, factors {tuple(factors)}, "
        f"in_lanes {buffer['in_lanes'] or layer.ow_par}"
    )


def _conv_pair(graph: StreamGraph, name: str) -> str:
    x = _input(graph, (*_size(graph), _up_to(graph, MAX_CHANNELS)))
    layer = _layer(graph, x.shape[:2])
    _output(graph, _conv(graph, name, x, _up_to(graph, MAX_CHANNELS), layer)[0])
    return _text(graph, name, layer, x)


def _grouped_pair(graph: StreamGraph, name: str) -> str:
    """Depthwise most often, with a depth multiplier or several inputs a group."""
    part, per = _pick(graph, (1, 1), (1, 1), (1, 2), (2, 1), (2, 3))
    group = _up_to(graph, MAX_CHANNELS // max(part, per))
    x = _input(graph, (*_size(graph), group * part))
    layer = _layer(graph, x.shape[:2])
    out = graph.grouped_conv(
        name,
        x,
        graph.random_weights(group * per, *layer.kernel, part, bits=_pick(graph, 4, 8)),
        stride=layer.stride,
        pads=layer.pads,
        factors=(_factor(graph, group), layer.ow_par),
        in_lanes=layer.in_lanes,
        out=_pick(graph, UINT8, INT8),
        mac_style=_pick(graph, "dsp", "lut"),
        link_style=_pick(graph, "bram", "lut"),
        pad_value=_pick(graph, 0, x.codes.lo, x.codes.hi),
    )[0]
    _output(graph, out)
    return f"{group} groups, {_text(graph, name, layer, x)}"


def _skip_pair(graph: StreamGraph, name: str) -> str:
    x = _input(graph, (*_size(graph), _up_to(graph, MAX_CHANNELS)))
    layer, och = _layer(graph, x.shape[:2]), _up_to(graph, MAX_CHANNELS)
    options = _skip_options(graph, _input(graph, (*layer.out_size, och)))
    _output(graph, _conv(graph, name, x, och, layer, **options)[0])
    return f"{options['skip_form']} {_text(graph, name, layer, x)}"


def _skip_options(graph: StreamGraph, skip: Edge) -> dict:
    shifts = tuple(int(s) for s in graph.rng.integers(0, 4, 2))
    return {"skip": skip, "skip_form": _pick(graph, "accumulator", "epilogue"), "shifts": shifts}


def _downsample_pair(graph: StreamGraph, name: str) -> str:
    x = _input(graph, (*_size(graph), _up_to(graph, MAX_CHANNELS)))
    layer, och = _layer(graph, x.shape[:2]), _up_to(graph, MAX_CHANNELS)
    tap = tuple(map(min, layer.pads[:2], (layer.kernel[0] - 1, layer.kernel[1] - 1)))
    weights = graph.random_weights(och, 1, 1, x.shape[2])
    for edge in _conv(graph, name, x, och, layer, ds_weights=weights, ds_tap=tap):
        _output(graph, edge)
    return _text(graph, name, layer, x)


def _residual_pair(graph: StreamGraph, name: str) -> str:
    """Two convolutions, the first one's window buffer forwards its input to the second."""
    x = _input(graph, (*_size(graph), _up_to(graph, MAX_CHANNELS)))
    first = _layer(graph, x.shape[:2], same_size=True)
    second = _layer(graph, x.shape[:2], same_size=True)
    middle, skip = _conv(graph, f"{name}a", x, _up_to(graph, MAX_CHANNELS), first, forward=True)
    options = _skip_options(graph, skip)
    _output(graph, _conv(graph, f"{name}b", middle, x.shape[2], second, **options)[0])
    before, after = _text(graph, f"{name}a", first, x), _text(graph, f"{name}b", second, middle)
    return f"{options['skip_form']} {before}, then {after}"


def _pool_pair(graph: StreamGraph, name: str) -> str:
    x = _input(graph, (*_size(graph), _up_to(graph, MAX_CHANNELS)))
    layer, kind = _layer(graph, x.shape[:2]), _pick(graph, "max", "average")
    out = shift_to(x.codes, 3) if kind == "average" else None
    ch_par = _up_to(graph, x.shape[2])
    window = (layer.kernel, layer.stride, layer.pads, ch_par, layer.ow_par)
    _output(graph, graph.pool(name, x, kind, *window, out))
    return f"{kind} {_text(graph, name, layer, x)}"


def _global_pool_pair(graph: StreamGraph, name: str) -> str:
    shape = (*_size(graph), _up_to(graph, MAX_CHANNELS))
    lanes, ch_par = _up_to(graph, shape[1]), _up_to(graph, shape[2])
    x = graph.adapt(_input(graph, shape), lanes, ch_par)
    kind = _pick(graph, "max", "average")
    out = shift_to(x.codes, 6) if kind == "average" else None
    graph.output(graph.global_pool(name, x, kind, out))
    return f"{kind} of {shape}, {lanes} lanes, {ch_par} channels"


def _concat_pair(graph: StreamGraph, name: str) -> str:
    """Two or three pictures, of which the last may have any number of channels."""
    h, w = _size(graph)
    unit = _pick(graph, 1, 2, 4)
    channels = [unit * _up_to(graph, MAX_CHANNELS // unit // 2) for _ in range(_up_to(graph, 2))]
    channels.append(_up_to(graph, MAX_CHANNELS))
    parts = [_input(graph, (h, w, count)) for count in channels]
    lanes, ch_par = _up_to(graph, min(4, w)), _up_to(graph, MAX_CHANNELS)
    requant = _pick(graph, None, shift_to(UINT8, 1))
    _output(graph, graph.concat(name, parts, lanes, ch_par, requant))
    return f"{channels} channels of {h}x{w}, {lanes} lanes of at most {ch_par} codes"


_KINDS = {
    "conv": _conv_pair,
    "grouped": _grouped_pair,
    "skip": _skip_pair,
    "downsample": _downsample_pair,
    "residual": _residual_pair,
    "pool": _pool_pair,
    "global_pool": _global_pool_pair,
    "concat": _concat_pair,
}


def random_pairs(seed: int, count: int) -> tuple[StreamGraph, list[Pair]]:
    """A graph of ``count`` pairs, the same for the same seed; odd seeds have fused streams."""
    graph = (StreamGraph, FusedGraph)[seed % 2](seed)
    return graph, [random_pair(graph, f"pair{index}") for index in range(count)]


def port_names(numbers: range, side: str, count: int) -> tuple[str, ...]:
    """Names of a pair's ports among the ``count`` of its graph's ``side`` (input or output)."""
    return tuple(side if count == 1 else f"{side}{number}" for number in numbers)
