"""Results of parallelism searches, kept by everything that decides them.

A search is deterministic: the same graph, board, options and cost model give the same factors.
The key therefore holds the sources of the model and of the search too, and an update of the
package searches again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from finn_resnet.boards import Resources
from finn_resnet.cache_folder import cache_folder
from finn_resnet.parallelism.coefficients import coefficients
from finn_resnet.parallelism.engine_model import EngineFactors
from finn_resnet.parallelism.milp import Change, ParallelismSolution

_log = logging.getLogger(__name__)
_SOURCES = ("finn_resnet.parallelism", "finn_resnet.numerics", "finn_resnet.custom_ops")
_KEPT = 512


def cached_search(
    model: Any, options: dict[str, Any], search: Callable[[], ParallelismSolution]
) -> ParallelismSolution:
    """The solution of an earlier search with the same key, else that of `search`, then kept.

    Args:
        model: hardware graph (ModelWrapper).
        options: JSON-ready values of everything else the search depends on.
        search: does the work; what it raises is not kept.
    """
    path = cache_folder() / "searches" / f"{_key(model, options)}.json"
    found = _read(path)
    if found is None:
        found = search()
        _log.info(
            "parallelism: %d cycles per frame after %.1f s of search (%s is slowest)",
            found.cycles,
            found.seconds,
            found.bottleneck,
        )
        _write(path, found)
    else:
        _log.debug("parallelism: searched before, %s", path)
    return found


def _key(model: Any, options: dict[str, Any]) -> str:
    digest = hashlib.sha256(model.model.SerializeToString(deterministic=True))
    digest.update(json.dumps(options, sort_keys=True).encode())
    digest.update(_source_digest())
    # Those of a user's file are in no source.
    digest.update(json.dumps(coefficients(), sort_keys=True).encode())
    return digest.hexdigest()[:32]


@cache
def _source_digest() -> bytes:
    digest = hashlib.sha256()
    for package in _SOURCES:
        for file in sorted(resources.files(package).iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".json")):
                digest.update(file.read_bytes())
    return digest.digest()


def _read(path: Path) -> ParallelismSolution | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        os.utime(path)
        kept["resources"] = Resources(**kept["resources"])
        kept["factors"] = {
            name: EngineFactors(**{k: tuple(v) if isinstance(v, list) else v for k, v in f.items()})
            for name, f in kept["factors"].items()
        }
        kept["changes"] = tuple(Change(**change) for change in kept["changes"])
        return ParallelismSolution(**kept)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Not there, or damaged: searched again.
        return None


def _write(path: Path, solution: ParallelismSolution) -> None:
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(f".{secrets.token_hex(4)}")
    partial.write_text(json.dumps(asdict(solution)), encoding="utf-8")
    partial.replace(path)
    kept = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for old in kept[:-_KEPT]:
        old.unlink(missing_ok=True)
