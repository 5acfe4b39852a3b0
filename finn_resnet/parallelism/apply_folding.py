"""ApplyFolding and export_folding: unroll factors by hand, as FINN-style JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp
from qonnx.transformation.base import Transformation

from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.parallelism.candidates import divisors
from finn_resnet.parallelism.engine_factors import read_factors, write_factors
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.network import Engine, read_network
from finn_resnet.transformation.insert_width_adapters import RemoveWidthAdapters

Folding = Mapping[str, Mapping[str, Any]]

MAC_STYLES = ("dsp", "lut")
MEM_STYLES = ("lut", "bram", "uram")
LINK_STYLES = ("lut", "bram")
BUFFER_STYLES = ("slices", "rows")
MEM_MODES = ("internal_decoupled", "internal_embedded")
_DEFAULTS = "Defaults"
_SETTINGS = {
    "StreamConv": (
        "och_par",
        "ich_par",
        "ow_par",
        "in_lanes",
        "mac_style",
        "mem_style",
        "link_style",
        "buffer_style",
        "mem_mode",
    ),
    "StreamPool": ("ch_par", "ow_par", "in_lanes", "link_style", "buffer_style"),
    "InputDMA": ("ch_par", "lanes"),
}
_DOWNSAMPLE_SETTING = "ds_mem_style"


class ApplyFolding(Transformation):
    """Set unroll factors and styles by hand.

    ``folding`` is a dict or the path of a JSON file:
    ``{"Defaults": {"mem_style": "bram"}, "layer1_0_conv1": {"och_par": 4, "ow_par": 2}}``.
    Nodes are convolutions (``och_par ich_par ow_par in_lanes mac_style mem_style link_style
    buffer_style mem_mode``, with a merged downsample ``ds_mem_style``), windowed pools (``ch_par
    ow_par in_lanes link_style buffer_style``) and the InputDMA (``ch_par lanes``); all other nodes
    follow them. ``Defaults`` go to every node that has the setting, factors limited to the node's
    extent. ``in_lanes`` follows ``ow_par`` unless given. What is not named keeps its value.

    Raises:
        UserError: unknown node or setting (with the nearest name), or illegal value (with the
            legal ones).
    """

    def __init__(self, folding: Folding | str | Path) -> None:
        super().__init__()
        self._folding = folding if isinstance(folding, Mapping) else _read(Path(folding))

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        model, _ = RemoveWidthAdapters().apply(model)
        engines = _engines(model)
        _check_names(self._folding, engines)
        defaults = self._folding.get(_DEFAULTS, {})
        chosen = {}
        for name, engine in engines.items():
            asked = _limited(engine, defaults)
            for key, value in self._folding.get(name, {}).items():
                asked[key] = _checked(engine, key, value)
            chosen[name] = _with_settings(engine, asked)
        write_factors(model, chosen)
        return model, False


def export_folding(model: ModelWrapper) -> dict[str, dict[str, Any]]:
    """The folding of an annotated graph, in the form `ApplyFolding` takes."""
    bare = model.transform(RemoveWidthAdapters())
    folding: dict[str, dict[str, Any]] = {_DEFAULTS: {}}
    for name, engine in _engines(bare).items():
        factors = read_factors(engine)
        named = {
            "och_par": factors.och_par,
            "ich_par": factors.ich_par,
            "ch_par": factors.och_par,
            "ow_par": factors.ow_par,
            "lanes": factors.ow_par,
            "in_lanes": factors.in_lanes,
            "mac_style": factors.mac_style,
            "link_style": factors.link_style,
            "buffer_style": factors.buffer_style,
            "mem_mode": factors.mem_mode,
        }
        named.update(zip(("mem_style", _DOWNSAMPLE_SETTING), factors.mem_styles, strict=False))
        folding[name] = {key: named[key] for key in _settings(engine)}
    return folding


def _read(path: Path) -> Folding:
    try:
        folding = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"folding file '{path}' cannot be read: {error}") from error
    return folding


def _engines(model: ModelWrapper) -> dict[str, Engine]:
    return {engine.name: engine for engine in read_network(model).engines}


def _settings(engine: Engine) -> tuple[str, ...]:
    own = _SETTINGS[engine.node.op_type]
    return (*own, _DOWNSAMPLE_SETTING) if len(engine.parameters) > 1 else own


def _check_names(folding: Any, engines: Mapping[str, Engine]) -> None:
    if not isinstance(folding, Mapping):
        raise UserError('a folding must be a JSON object such as {"Defaults": {}, "conv1": {..}}')
    for name, settings in folding.items():
        if name != _DEFAULTS and name not in engines:
            raise UserError(f"folding of node {name!r}: {did_you_mean(name, engines)}")
        if not isinstance(settings, Mapping):
            raise UserError(f"folding of {name!r} = {settings!r} must be a JSON object")
    known = {key for engine in engines.values() for key in _settings(engine)}
    for key in folding.get(_DEFAULTS, {}):
        if key not in known:
            raise UserError(f"folding default {key!r}: {did_you_mean(key, known)}")


def _limits(engine: Engine) -> dict[str, int]:
    """Largest value of every factor the engine has."""
    op = getCustomOp(engine.node)
    if engine.node.op_type == "StreamConv":
        return dict(
            zip(("och_par", "ich_par", "ow_par"), op.attrs("och", "ich", "ow"), strict=True)
        )
    if engine.node.op_type == "StreamPool":
        return dict(zip(("ch_par", "ow_par"), op.attrs("ch", "ow"), strict=True))
    return dict(zip(("ch_par", "lanes"), op.attrs("ch", "w"), strict=True))


def _styles(key: str) -> tuple[str, ...] | None:
    return {
        "mac_style": MAC_STYLES,
        "mem_style": MEM_STYLES,
        _DOWNSAMPLE_SETTING: MEM_STYLES,
        "link_style": LINK_STYLES,
        "buffer_style": BUFFER_STYLES,
        "mem_mode": MEM_MODES,
    }.get(key)


def _checked(engine: Engine, key: str, value: Any) -> Any:
    """``value`` if it is legal for ``key`` (``in_lanes`` is judged with ``ow_par``, later)."""
    if key not in _settings(engine):
        raise UserError(
            f"folding of {engine.name!r}: {key!r} is no setting of it; "
            f"{did_you_mean(key, _settings(engine))}"
        )
    styles = _styles(key)
    if styles is not None:
        if value not in styles:
            legal = ", ".join(styles)
            raise UserError(f"folding of {engine.name!r}: {key} = {value!r} must be one of {legal}")
        return value
    limit = _limits(engine).get(key)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < 1 or (limit is not None and value > limit):
        legal = f"a whole number from 1 to {limit}" if limit else "a whole number from 1 up"
        raise UserError(f"folding of {engine.name!r}: {key} = {value!r} must be {legal}")
    return value


def _limited(engine: Engine, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults this engine has a use for; factors are cut to its extents."""
    found = {}
    limits = _limits(engine)
    for key, value in defaults.items():
        if key not in _settings(engine):
            continue
        if key in limits and isinstance(value, int) and value > limits[key]:
            value = limits[key]
        found[key] = _checked(engine, key, value)
    return found


def _with_settings(engine: Engine, asked: Mapping[str, Any]) -> EngineFactors:
    present = read_factors(engine)
    if engine.node.op_type == "InputDMA":
        lanes = asked.get("lanes", present.ow_par)
        ch_par = asked.get("ch_par", present.och_par)
        return EngineFactors(ch_par, ch_par, lanes, lanes)
    ow_par = asked.get("ow_par", present.ow_par)
    follow = min(ow_par, _input_width(engine))
    unchanged = present.in_lanes if ow_par == present.ow_par else follow
    in_lanes = asked.get("in_lanes", unchanged)
    _check_lanes(engine, ow_par, in_lanes)
    styles = {key: asked.get(key, getattr(present, key)) for key in ("link_style", "buffer_style")}
    if styles["buffer_style"] == "rows":
        _check_rows(engine, ow_par, in_lanes)
    if engine.node.op_type == "StreamPool":
        ch_par = asked.get("ch_par", present.och_par)
        return EngineFactors(ch_par, ch_par, ow_par, in_lanes, **styles)
    mem_styles = tuple(
        asked.get(key, style)
        for key, style in zip(("mem_style", _DOWNSAMPLE_SETTING), present.mem_styles, strict=False)
    )
    plain = {
        key: asked[key] for key in ("och_par", "ich_par", "mac_style", "mem_mode") if key in asked
    }
    if "uram" in mem_styles and plain.get("mem_mode", present.mem_mode) == "internal_embedded":
        raise UserError(
            f"folding of {engine.name!r}: mem_style = 'uram' is filled over a stream and needs "
            "mem_mode = 'internal_decoupled'"
        )
    return replace(
        present,
        ow_par=ow_par,
        in_lanes=in_lanes,
        mem_styles=mem_styles,
        **styles,
        **plain,
    )


def _check_rows(engine: Engine, ow_par: int, in_lanes: int) -> None:
    op = getCustomOp(engine.buffer)
    row = replace(op.row_window(), ow_par=ow_par, in_lanes=in_lanes)
    problem = row.problem(op.get_nodeattr("fh"))
    if problem is not None:
        raise UserError(
            f"folding of {engine.name!r}: buffer_style = 'rows' {problem}; use 'slices'"
        )


def _input_width(engine: Engine) -> int:
    return getCustomOp(engine.buffer).get_nodeattr("iw")


def _check_lanes(engine: Engine, ow_par: int, in_lanes: int) -> None:
    step = ow_par * getCustomOp(engine.buffer).get_nodeattr("stride")[1]
    legal = [lanes for lanes in divisors(step) if lanes <= _input_width(engine)]
    if in_lanes not in legal:
        raise UserError(
            f"folding of {engine.name!r}: in_lanes = {in_lanes} must be one of "
            f"{', '.join(map(str, legal))} (it divides ow_par times the stride, {step})"
        )
