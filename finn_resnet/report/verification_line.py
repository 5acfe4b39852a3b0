"""Section `verification` of a report in words: what was compared with what (docs/equality.md)."""

from __future__ import annotations

from typing import Any

DEFINITIONS = {
    "qonnx": "qonnx's execution of the model",
    "contract": "the contract",
    "hardware graph": "the hardware graph",
}


def rtl_simulation_line(section: dict[str, Any] | None) -> str:
    """Section `rtl_simulation` as one line: codes and cycles of the RTL in Verilator."""
    if section is None:
        return "not run: the RTL has not been simulated"
    if section["not_checked"]:
        return f"not run: {section['not_checked']}"
    line = (
        f"{section['mismatched_codes']:,} of {section['compared_codes']:,} codes differ from the "
        f"model in {section['frames']} frames; {section['cycles_per_frame']:,} cycles per frame, "
        f"{section['predicted_cycles_per_frame']:,} predicted, {section['fps']:,.0f} frames/s"
    )
    return f"{line}; failed: {section['failure']}" if section["failure"] else line


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
