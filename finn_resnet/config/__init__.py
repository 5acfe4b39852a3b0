"""Build configurations: the keys, their JSON form, reuse through `extends`."""

from __future__ import annotations

from finn_resnet.config.build_config import BuildConfig
from finn_resnet.config.loader import load_config, shipped_configs
from finn_resnet.config.reference import json_schema, markdown_reference

__all__ = ["BuildConfig", "json_schema", "load_config", "markdown_reference", "shipped_configs"]
