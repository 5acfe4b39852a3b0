"""The schema agrees with the loader, and docs/config.md is the page the code generates."""

from __future__ import annotations

from pathlib import Path

from finn_resnet.config import BuildConfig, json_schema, markdown_reference
from finn_resnet.config.keys import KEYS

CHECKOUT = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date():
    page = (CHECKOUT / "docs" / "config.md").read_text(encoding="utf-8")
    assert page == markdown_reference(), (
        "docs/config.md is stale: run `finn-resnet config-reference --markdown > docs/config.md`"
    )


def test_the_schema_knows_every_key_and_no_other():
    schema = json_schema()
    assert set(schema["properties"]) == {"extends", *KEYS}
    assert schema["additionalProperties"] is False


def test_the_defaults_in_the_schema_are_those_of_a_config():
    values = BuildConfig(model="resnet8", board="KV260").as_dict()
    for name, entry in json_schema()["properties"].items():
        if "default" in entry:
            assert values[name] == entry["default"]
