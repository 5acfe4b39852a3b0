"""The cost model's coefficients, read from ``coefficients.json`` where each names its source.

An entry is ``{"value": .., "unit": .., "source": ..}`` if it is exact (a device's shapes, a number
of pipeline stages), and ``{"low": .., "high": .., "resource": .., "unit": .., "source": ..}`` if it
prices hardware. A file of one's own (``finn-resnet calibrate`` writes such) replaces some entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from finn_resnet.boards import Resources
from finn_resnet.errors import UserError, did_you_mean

_F = TypeVar("_F", bound=Callable[..., Any])
_SHIPPED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("coefficients.json").read_text(encoding="utf-8")
)
_active = _SHIPPED
_kept: list[Any] = []


def coefficients() -> dict[str, dict[str, Any]]:
    """All entries in use, by name."""
    return _active


def changed_coefficients() -> dict[str, dict[str, Any]]:
    """The entries in use that are not the shipped ones."""
    return {name: entry for name, entry in _active.items() if entry != _SHIPPED[name]}


def coefficient(name: str) -> Any:
    """Value of an exact coefficient."""
    return _active[name]["value"]


def priced(name: str, count: float = 1) -> Resources:
    """What ``count`` units of a coefficient cost, between its bounds."""
    entry = _active[name]
    resource = entry["resource"]
    bounds = {resource: count * entry["high"], f"{resource}_low": count * entry["low"]}
    return Resources(**bounds)


def keeps_costs(function: _F) -> _F:
    """As `functools.cache`, for functions whose result depends on coefficients."""
    kept = cache(function)
    _kept.append(kept)
    return kept  # type: ignore[return-value]


@contextmanager
def replaced_coefficients(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Use ``entries`` (name -> fields that change) in place of the shipped ones."""
    global _active
    before = _active
    _active = {**before, **{name: {**before[name], **new} for name, new in entries.items()}}
    _forget()
    try:
        yield
    finally:
        _active = before
        _forget()


@contextmanager
def calibrated(path: str | Path | None) -> Iterator[None]:
    """Use the entries of a coefficients file, None for the shipped ones.

    Raises:
        UserError: see `read_coefficients`.
    """
    with replaced_coefficients(read_coefficients(path) if path is not None else {}):
        yield


def _forget() -> None:
    for kept in _kept:
        kept.cache_clear()


def read_coefficients(path: str | Path) -> dict[str, dict[str, Any]]:
    """Entries of a coefficients file: those it changes, checked.

    Raises:
        UserError: the file cannot be read, or an entry is no coefficient or out of range.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"coefficients file '{path}' cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"coefficients file '{path}' must hold a JSON object of coefficients")
    problems = [problem for name, new in data.items() for problem in _problems(name, new)]
    if problems:
        raise UserError(f"coefficients file '{path}': " + "; ".join(problems))
    return data


def _problems(name: str, new: Any) -> Iterator[str]:
    """What is wrong with an entry of a user's file."""
    if name not in _SHIPPED:
        yield f"{name!r} is unknown: {did_you_mean(name, _SHIPPED)}"
        return
    shipped = _SHIPPED[name]
    if not isinstance(new, dict):
        yield f"{name} = {new!r} must be an object such as {json.dumps(shipped)}"
        return
    for key in new:
        if key not in shipped:
            yield f"{name}: {key!r} is unknown: {did_you_mean(key, shipped)}"
    if "value" in shipped:
        value = new.get("value", shipped["value"])
        if not _alike(value, shipped["value"]):
            yield f"{name}: value = {value!r} must be like {shipped['value']!r}, from 0 up"
        return
    low, high = (new.get(key, shipped[key]) for key in ("low", "high"))
    if not (_is_amount(low) and _is_amount(high)) or low > high:
        yield f"{name}: low = {low!r}, high = {high!r} must be numbers from 0 up, low the smaller"


def _is_amount(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value < float("inf")


def _alike(value: Any, shipped: Any) -> bool:
    """Whether ``value`` has the form of ``shipped``: an amount, a table or nested list of them."""
    if isinstance(shipped, dict):
        return isinstance(value, dict) and all(_is_amount(v) for v in value.values())
    if not isinstance(shipped, list):
        return _is_amount(value)
    return isinstance(value, list) and len(value) > 0 and all(_alike(v, shipped[0]) for v in value)
