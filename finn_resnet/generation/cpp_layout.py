"""Line breaks of generated C++: the repository's 100 columns."""

from __future__ import annotations

LINE = 100
_CONTINUATION = 4


def wrap_code(text: str) -> str:
    """Break lines longer than `LINE`: after a comma, or else after an opening bracket.

    Preprocessor lines and comments stay as they are.
    """
    return "\n".join(_wrap_line(line) for line in text.split("\n"))


def _wrap_line(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    if len(line) <= LINE or line.lstrip().startswith(("#", "//")):
        return line
    margin = " " * (indent + _CONTINUATION)
    lines = []
    while len(line) > LINE:
        cut = _break_point(line, len(line) - len(line.lstrip()))
        if cut is None:
            break
        lines.append(line[:cut].rstrip())
        line = margin + line[cut:].lstrip()
    return "\n".join([*lines, line])


def _break_point(line: str, indent: int) -> int | None:
    """Index after the last separator that fits, None if the line cannot be broken."""
    comma = line.rfind(", ", indent + 1, LINE)
    if comma > 0:
        return comma + 1
    bracket = max(line.rfind(mark, indent + 1, LINE) for mark in "(<")
    return bracket + 1 if bracket > 0 else None
