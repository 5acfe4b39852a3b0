"""Section `verification` of a report in words: what was compared with what (docs/equality.md)."""

from __future__ import annotations

from typing import Any

DEFINITIONS = {
    "qonnx": "qonnx's execution of the model",
    "contract": "the contract",
    "hardware graph": "the hardware graph",
}


def verification_line(section: dict[str, Any] | None) -> str:
    """Section `verification` as one line: what was compared with what, and what differs."""
    if section is None:
        return "not run: the C++ has not been compared with the model"
    line = (
        f"{section['mismatched_codes']:,} of {section['compared_codes']:,} codes differ from "
        f"{DEFINITIONS[section['definition']]} on {section['images']:,} images and "
        f"{section['generated_images']:,} generated ones"
    )
    if section["thresholds_hit"] is not None:
        line += f", which hit {100 * section['thresholds_hit']:.1f} % of all thresholds"
    if section["definition"] == "contract":
        line += (
            f"; the contract differs from qonnx's float32 execution in "
            f"{section['float32_differences']:,} codes"
        )
    if section["failure"]:
        line += f"; failed: {section['failure']}"
    return line
