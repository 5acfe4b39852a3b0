"""The C++ library's jinja2 templates."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2

from finn_resnet.generation.registry import library_folder


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(library_folder() / "templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **context: Any) -> str:
    """C++ text of ``<template>.j2``."""
    return _environment().get_template(f"{template}.j2").render(context)
