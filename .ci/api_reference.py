"""Print the page api.md of the documentation site: the public names with their docstrings."""

from __future__ import annotations

import importlib
import inspect

MODULES = (
    "finn_resnet.build",
    "finn_resnet.config",
    "finn_resnet.boards",
    "finn_resnet.importing",
    "finn_resnet.lowering",
    "finn_resnet.transformation",
    "finn_resnet.parallelism",
    "finn_resnet.verification",
    "finn_resnet.report",
    "finn_resnet.custom_ops",
)
HEAD = """# Python API

The public names, by package. What is not listed here may change without notice. Errors of a
caller are `finn_resnet.errors.UserError`, with one line that says what, why and the remedy.
"""


def reference() -> str:
    """The page."""
    parts = [HEAD]
    for name in MODULES:
        module = importlib.import_module(name)
        parts.append(f"## {name}\n\n{inspect.getdoc(module)}\n")
        for public in sorted(module.__all__):
            parts.append(_entry(public, getattr(module, public)))
    return "\n".join(parts)


def _entry(name: str, value: object) -> str:
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return f"### {name}\n\nA constant.\n"
    try:
        parameters = ", ".join(inspect.signature(value).parameters)
    except ValueError:
        parameters = "..."
    text = inspect.getdoc(value) or ""
    return f"### {name}\n\n```text\n{name}({parameters})\n\n{text}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
