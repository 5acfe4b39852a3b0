"""Name of the C++ top function: what is legal, and a legal one made from a file's name."""

from __future__ import annotations

import re
from importlib import resources

from finn_resnet.errors import UserError

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class
compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept
not not_eq nullptr operator or or_eq private protected public register reinterpret_cast return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Names and macros of the standard headers, and what the project's own files are named.
_TAKEN = """main std fr assert errno stdin stdout stderr NULL EOF linux unix"""
_FILES = ("config", "testbench", "vector_testbench")


def reserved_names() -> frozenset[str]:
    """Identifiers a top function cannot have: C++17's words, and those its sources use.

    The top's sources are `<top>.hpp` and `<top>.cpp`, beside which the library's headers are found.
    """
    library = resources.files("finn_resnet.hls").iterdir()
    headers = [file.name.removesuffix(".hpp") for file in library if file.name.endswith(".hpp")]
    return frozenset([*_KEYWORDS.split(), *_TAKEN.split(), *_FILES, *headers])


def is_legal_top_name(name: str) -> bool:
    """Whether a C++ function of a generated project can have this name."""
    return bool(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)) and name not in reserved_names()


def check_top_name(name: str) -> None:
    """Refuse an illegal top name.

    Raises:
        UserError: it is no C identifier, or taken.
    """
    if not is_legal_top_name(name):
        raise UserError(
            f"config key 'top_name': {name!r} cannot name the C++ top function: use letters, "
            "digits and '_', start with a letter, and take no word of C++ and no file of the "
            f"project; {top_name_from(name)!r} would do"
        )


def top_name_from(text: str) -> str:
    """A legal top name as near to `text` as there is: `switch` becomes `top_switch`."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if is_legal_top_name(name) else f"top_{name.lstrip('_')}"
