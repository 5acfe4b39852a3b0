"""ApplyFolding and export_folding: unroll factors by hand, as FINN-style JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.errors import UserError, did_you_mean
from finn_resnet.parallelism.candidates import divisors
from finn_resnet.parallelism.engine_factors import read_factors, write_factors
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.network import Engine, read_network
from finn_resnet.transformation.graph_edit import as_op
from finn_resnet.transformation.insert_width_adapters import RemoveWidthAdapters

Folding = Mapping[str, Mapping[str, Any]]

_DEFAULTS = "Defaults"
_FINN_SETTINGS = ("PE", "SIMD")
_MEMORY_SETTINGS = ("mem_style", "ds_mem_style")
"""Of the weights, and of a merged downsample's."""


class ApplyFolding(Transformation):
    """Set unroll factors and styles by hand.

    ``folding`` is a dict or the path of a JSON file:
    ``{"Defaults": {"mem_style": "bram"}, "layer1_0_conv1": {"och_par": 4, "ow_par": 2}}``.
    Nodes are convolutions (``och_par ich_par ow_par in_lanes mac_style mem_style link_style
    buffer_style mem_mode chain``, with a merged downsample ``ds_mem_style``), windowed pools
    (``ch_par ow_par in_lanes link_style buffer_style``) and the InputDMA (``ch_par lanes``); all
    other nodes follow them. ``Defaults`` go to every node that has the setting, factors limited to
    the node's extent; ``[value, [op types]]`` limits one, as in FINN. FINN's ``PE`` is ``och_par``
    (or ``ch_par``), its ``SIMD`` is ``ich_par * fh * fw``. ``in_lanes`` follows
    ``ow_par`` unless given. What is not named keeps its value.

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
                own, value = _own_setting(engine, key, value)
                asked[own] = _checked(engine, own, value)
            chosen[name] = _with_settings(engine, asked)
        write_factors(model, chosen)
        return model, False


def export_folding(model: ModelWrapper) -> dict[str, dict[str, Any]]:
    """The folding of an annotated graph, in the form `ApplyFolding` takes."""
    bare = model.transform(RemoveWidthAdapters())
    folding: dict[str, dict[str, Any]] = {_DEFAULTS: {}}
    for name, engine in _engines(bare).items():
        factors = read_factors(engine)
        folding[name] = {
            key: getattr(factors, setting.field) for key, setting in _settings(engine).items()
        }
        folding[name].update(zip(_MEMORY_SETTINGS, factors.mem_styles, strict=False))
    return folding


def _read(path: Path) -> Folding:
    try:
        folding = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"folding file '{path}' cannot be read: {error}") from error
    return folding


def _engines(model: ModelWrapper) -> dict[str, Engine]:
    return {engine.name: engine for engine in read_network(model).engines}


@dataclass(frozen=True)
class _Setting:
    """A factor or style: the field of `EngineFactors`, its largest value, its legal values.

    ``step``: what a factor is a multiple of.
    """

    field: str
    limit: int | None
    styles: tuple[str, ...]
    step: int = 1


def _settings(engine: Engine) -> dict[str, _Setting]:
    """Settings of an engine by name: its own, what its buffer adds, its memories' styles."""
    own = as_op(engine.node)
    found = {}
    for node in (engine.node, engine.buffer):
        if node is None:
            continue
        op = as_op(node)
        for field, name in op.factors.items():
            # What the buffer unrolls, the engine decides.
            if node is engine.node or not (name in op.unrolled or field in own.factors):
                limit = op.get_nodeattr(op.unrolled[name]) if name in op.unrolled else None
                found[name] = _Setting(field, limit, op.styles(name), op.factor_step(name))
    for name, node in zip(_MEMORY_SETTINGS, engine.parameters, strict=False):
        found[name] = _Setting("mem_styles", None, as_op(node).styles("mem_style"))
    return found


def _check_names(folding: Any, engines: Mapping[str, Engine]) -> None:
    if not isinstance(folding, Mapping):
        raise UserError('a folding must be a JSON object such as {"Defaults": {}, "conv1": {..}}')
    for name, settings in folding.items():
        if name != _DEFAULTS and name not in engines:
            raise UserError(f"folding of node {name!r}: {did_you_mean(name, engines)}")
        if not isinstance(settings, Mapping):
            raise UserError(f"folding of {name!r} = {settings!r} must be a JSON object")
    known = {key for engine in engines.values() for key in _settings(engine)} | {*_FINN_SETTINGS}
    for key in folding.get(_DEFAULTS, {}):
        if key not in known:
            raise UserError(f"folding default {key!r}: {did_you_mean(key, known)}")


def _own_setting(engine: Engine, key: str, value: Any) -> tuple[str, Any]:
    """FINN's PE and SIMD as our factors; any other setting as it is.

    PE counts output channels computed at once, our ``och_par`` (``ch_par`` of a pool or DMA). SIMD
    counts operands of a window taken at once; ours takes all ``fh * fw`` taps of ``ich_par``
    channels, so SIMD = ich_par * fh * fw.
    """
    if key not in _FINN_SETTINGS:
        return key, value
    settings, op = _settings(engine), as_op(engine.node)
    if key == "PE":
        return ("och_par" if "och_par" in settings else "ch_par"), value
    if "ich_par" not in settings:
        return key, value
    taps = op.get_nodeattr("fh") * op.get_nodeattr("fw")
    if not isinstance(value, int) or value % taps:
        raise UserError(
            f"folding of {engine.name!r}: SIMD = {value!r} must be a multiple of its {taps} taps "
            "(SIMD = ich_par * fh * fw); or give ich_par"
        )
    return "ich_par", value // taps


def _checked(engine: Engine, key: str, value: Any) -> Any:
    """``value`` if it is legal for ``key`` (``in_lanes`` is judged with ``ow_par``, later)."""
    if key not in _settings(engine):
        raise UserError(
            f"folding of {engine.name!r}: {key!r} is no setting of it; "
            f"{did_you_mean(key, _settings(engine))}"
        )
    setting = _settings(engine)[key]
    if setting.styles:
        if value not in setting.styles:
            legal = ", ".join(setting.styles)
            raise UserError(f"folding of {engine.name!r}: {key} = {value!r} must be one of {legal}")
        return value
    limit = setting.limit
    whole = isinstance(value, int) and not isinstance(value, bool)
    least, step = 0 if key == "chain" else setting.step, setting.step
    if not whole or value < least or (limit is not None and value > limit) or value % step:
        kind = "whole number" if step == 1 else f"multiple of {step}"
        legal = f"a {kind} from {least} " + (f"to {limit}" if limit else "up")
        raise UserError(f"folding of {engine.name!r}: {key} = {value!r} must be {legal}")
    return value


def _limited(engine: Engine, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults this engine has a use for; factors are cut to its extents."""
    found = {}
    settings = _settings(engine)
    for key, value in defaults.items():
        # FINN's form: [value, [op types]], "all" for every op.
        if isinstance(value, list):
            value, ops = value if len(value) == 2 and isinstance(value[1], list) else (value, [])
            if engine.node.op_type not in ops and "all" not in ops:
                continue
        key, value = _own_setting(engine, key, value)
        if key not in settings:
            continue
        limit = settings[key].limit
        if limit is not None and isinstance(value, int) and value > 0:
            step = settings[key].step
            value = max(min(value, limit) // step, 1) * step
        found[key] = _checked(engine, key, value)
    return found


def _with_settings(engine: Engine, asked: Mapping[str, Any]) -> EngineFactors:
    present = read_factors(engine)
    settings = _settings(engine)
    changes = {
        settings[key].field: value for key, value in asked.items() if key not in _MEMORY_SETTINGS
    }
    changes["mem_styles"] = tuple(
        asked.get(key, style)
        for key, style in zip(_MEMORY_SETTINGS, present.mem_styles, strict=False)
    )
    if "ich_par" not in as_op(engine.node).factors and "och_par" in changes:
        changes["ich_par"] = as_op(engine.node).read_channels(changes["och_par"])
    ow_par = changes.get("ow_par", present.ow_par)
    if ow_par != present.ow_par:
        follow = ow_par if engine.buffer is None else min(ow_par, _input_width(engine))
        changes.setdefault("in_lanes", follow)
    chosen = replace(present, **changes)
    _check_styles(engine, chosen)
    return chosen


def _check_styles(engine: Engine, chosen: EngineFactors) -> None:
    """What must hold between settings."""
    if engine.buffer is not None:
        _check_lanes(engine, chosen.ow_par, chosen.in_lanes)
        if chosen.buffer_style == "rows":
            _check_rows(engine, chosen.ow_par, chosen.in_lanes)
    if "uram" in chosen.mem_styles and chosen.mem_mode == "internal_embedded":
        raise UserError(
            f"folding of {engine.name!r}: mem_style = 'uram' is filled over a stream and needs "
            "mem_mode = 'internal_decoupled'"
        )


def _check_rows(engine: Engine, ow_par: int, in_lanes: int) -> None:
    op = as_op(engine.buffer)
    row = replace(op.row_window(), ow_par=ow_par, in_lanes=in_lanes)
    problem = row.problem(op.get_nodeattr("fh"))
    if problem is not None:
        raise UserError(
            f"folding of {engine.name!r}: buffer_style = 'rows' {problem}; use 'slices'"
        )


def _input_width(engine: Engine) -> int:
    return as_op(engine.buffer).get_nodeattr("iw")


def _check_lanes(engine: Engine, ow_par: int, in_lanes: int) -> None:
    step = ow_par * as_op(engine.buffer).get_nodeattr("stride")[1]
    legal = [lanes for lanes in divisors(step) if lanes <= _input_width(engine)]
    if in_lanes not in legal:
        raise UserError(
            f"folding of {engine.name!r}: in_lanes = {in_lanes} must be one of "
            f"{', '.join(map(str, legal))} (it divides ow_par times the stride, {step})"
        )
