"""The cost model's coefficients, read from ``coefficients.json`` where each names its source."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def coefficient(name: str) -> Any:
    """Value of a coefficient; its unit and source stand beside it in ``coefficients.json``."""
    return coefficients()[name]["value"]


@cache
def coefficients() -> dict[str, dict[str, Any]]:
    """All coefficients: name -> ``{"value": .., "unit": .., "source": ..}``."""
    path = Path(__file__).with_name("coefficients.json")
    return json.loads(path.read_text(encoding="utf-8"))
