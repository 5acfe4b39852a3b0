"""Reading a `BuildConfig` from JSON, with `extends` for reuse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from finn_resnet.config.build_config import BuildConfig
from finn_resnet.config.keys import KEYS, check_key
from finn_resnet.errors import UserError, did_you_mean

EXTENDS = "extends"


def load_config(path: str | Path, overrides: Mapping[str, Any] | None = None) -> BuildConfig:
    """Read a build configuration.

    Relative `extends`, input files and a `model` given as a file start at the folder of the
    configuration that names them; a relative `output_dir` starts at the current folder, so that
    a configuration inside an installed package never writes there. `path` may be the name of a
    shipped configuration (`resnet8_kv260`). A key set to null counts as left out, which undoes
    what an extended configuration says.

    Args:
        path: JSON file or the name of a shipped configuration.
        overrides: keys that win over the file's, for instance from the command line. An entry
            of a table (`optimisations`, `caps`) replaces that entry alone.

    Raises:
        UserError: missing or malformed file, unknown key, illegal value, `extends` in a circle.
    """
    merged = _merge(_read_chain(_locate(path, Path.cwd(), "configuration"), ()), overrides or {})
    given = {name: value for name, value in merged.items() if value is not None}
    # A key that must be given and is not is refused by BuildConfig, with what it must be.
    return BuildConfig(**{"model": None, "board": None, **given})


def shipped_configs() -> dict[str, Path]:
    """Name -> file of every configuration that comes with the package."""
    folder = Path(str(resources.files("finn_resnet.build_configs")))
    return {file.stem: file for file in sorted(folder.glob("*.json"))}


def _locate(name: str | Path, folder: Path, what: str) -> Path:
    candidate = folder / Path(name).expanduser()
    if candidate.is_file():
        return candidate.resolve()
    shipped = shipped_configs()
    if str(name).removesuffix(".json") in shipped:
        return shipped[str(name).removesuffix(".json")]
    raise UserError(
        f"{what} {str(name)!r} not found, neither as a file nor as a shipped configuration; "
        f"{did_you_mean(str(name), shipped)}"
    )


def _read_chain(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """Keys of `path` merged over those of the configuration it extends."""
    if path in below:
        circle = " -> ".join(file.name for file in (*below[below.index(path) :], path))
        raise UserError(f"config key 'extends' runs in a circle: {circle}; remove one of them")
    own = _read(path)
    base = own.pop(EXTENDS, None)
    for name in own:
        check_key(name, f"config {path.name}")
    own = _resolve_paths(own, path.parent)
    if base is None:
        return own
    if not isinstance(base, str) or not base:
        raise UserError(
            f"config key 'extends': {base!r} is not legal, it must be a configuration file or "
            "the name of a shipped configuration"
        )
    base_path = _locate(base, path.parent, f"config {path.name}: 'extends' names")
    return _merge(_read_chain(base_path, (*below, path)), own)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        both_tables = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = {**merged[name], **value} if both_tables else value
    return merged


def _resolve_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    def resolved(name: str, value: Any) -> Any:
        if not isinstance(value, str) or not value:
            return value
        is_path = KEYS[name].is_input_path or (name in ("model", "board") and is_file_name(value))
        return str(folder / Path(value).expanduser()) if is_path else value

    return {name: resolved(name, value) for name, value in values.items()}


def is_file_name(name: str) -> bool:
    """Whether the value of `model` or `board` is a file rather than the name of a shipped one."""
    return "/" in name or "\\" in name or name.endswith((".onnx", ".json"))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError(f"config {str(path)!r} cannot be read: {fault}") from fault
    try:
        content = json.loads(
            text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as fault:
        raise UserError(
            f"config {str(path)!r} is not JSON: {fault.msg} at line {fault.lineno}, column "
            f"{fault.colno}"
        ) from fault
    except RecursionError as fault:
        raise UserError(f"config {str(path)!r} is nested too deeply to be a config") from fault
    if not isinstance(content, dict):
        raise UserError(f"config {str(path)!r} must hold one JSON object of keys and values")
    return content


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"config key {twice!r} is given twice; keep one")
    return content


def _refuse_constant(constant: str) -> Any:
    raise UserError(f"config holds {constant}, which JSON does not allow; use a finite number")
