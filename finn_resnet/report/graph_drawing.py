"""The dataflow graph as a picture: one box for each task, top to bottom in data order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import NodeProto
    from qonnx.core.modelwrapper import ModelWrapper

_BOX_WIDTH, _BOX_HEIGHT = 200, 34
_COLUMN, _ROW = 250, 58
_MARGIN = 16
# Space between two columns, where streams that pass by boxes run.
_GUTTER = _COLUMN - _BOX_WIDTH

# Constant operands, drawn inside the task that reads them.
_PARAMETER_OP = "ParameterStream"


@dataclass(frozen=True)
class _Place:
    """Grid position of a box."""

    row: int
    column: int

    @property
    def left(self) -> float:
        """Left edge of the box in pixels."""
        return _MARGIN + self.column * _COLUMN

    @property
    def top(self) -> float:
        """Upper edge of the box in pixels."""
        return _MARGIN + self.row * _ROW


def draw_graph(model: ModelWrapper) -> str:
    """SVG of a hardware graph.

    A node stands below everything it reads; a branch that leaves a fork gets a column of its own
    until it joins again.
    """
    nodes = [node for node in model.graph.node if node.op_type != _PARAMETER_OP]
    producers = {name: node.name for node in nodes for name in node.output}
    sources = {
        node.name: [producers[name] for name in node.input if name in producers] for node in nodes
    }
    places = _place(nodes, sources)
    width = 2 * _MARGIN + (1 + max(place.column for place in places.values())) * _COLUMN
    height = 2 * _MARGIN + (1 + max(place.row for place in places.values())) * _ROW
    edges = [
        _edge(places[source], places[node.name]) for node in nodes for source in sources[node.name]
    ]
    boxes = [_box(node, places[node.name]) for node in nodes]
    return (
        f'<svg class="graph" role="img" aria-label="Graph of {len(nodes)} tasks" '
        f'xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        + "".join(edges + boxes)
        + "</svg>"
    )


def _place(nodes: list[NodeProto], sources: dict[str, list[str]]) -> dict[str, _Place]:
    """Row: one below the lowest source. Column: that of the first source still free to go on."""
    places: dict[str, _Place] = {}
    continued: set[str] = set()
    taken: dict[int, set[int]] = defaultdict(set)
    for node in nodes:
        above = sources[node.name]
        row = 1 + max((places[name].row for name in above), default=-1)
        straight = [name for name in above if name not in continued]
        column = min((places[name].column for name in straight), default=None)
        if column is None:
            column = 1 + max((places[name].column for name in above), default=-1)
        while column in taken[row]:
            column += 1
        continued.update(straight)
        taken[row].add(column)
        places[node.name] = _Place(row, column)
    return places


def _box(node: NodeProto, place: _Place) -> str:
    name = node.name if len(node.name) <= 32 else f"...{node.name[-29:]}"
    middle = place.left + _BOX_WIDTH / 2
    return (
        f'<g class="task {escape(node.op_type)}"><title>{escape(node.name)}</title>'
        f'<rect x="{place.left:g}" y="{place.top:g}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" '
        f'rx="5"/><text class="op" x="{middle:g}" y="{place.top + 14:g}">{escape(node.op_type)}'
        f'</text><text class="name" x="{middle:g}" y="{place.top + 27:g}">{escape(name)}</text></g>'
    )


def _edge(source: _Place, target: _Place) -> str:
    """A stream: straight down, or through the gutter where boxes are in the way."""
    start = source.left + _BOX_WIDTH / 2
    end = target.left + _BOX_WIDTH / 2
    bottom, top = source.top + _BOX_HEIGHT, target.top
    if target.row == source.row + 1:
        half = (bottom + top) / 2
        path = f"M {start:g} {bottom:g} V {half:g} H {end:g} V {top:g}"
    else:
        gutter = max(source.left, target.left) + _BOX_WIDTH + _GUTTER / 2
        path = (
            f"M {source.left + _BOX_WIDTH:g} {source.top + _BOX_HEIGHT / 2:g} H {gutter:g} "
            f"V {target.top + _BOX_HEIGHT / 2:g} H {target.left + _BOX_WIDTH:g}"
        )
    return f'<path class="stream" d="{path}"/>'
