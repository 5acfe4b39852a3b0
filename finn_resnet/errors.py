"""Errors a user can mend, told apart from faults of our own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Bad input or an impossible request: one line that says what, why and the remedy.

    The command line prints the message alone and exits with code 2; every other exception is a
    fault of ours and keeps its traceback.
    """


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Clause that helps after an unknown name: the nearest candidate and all of them.

    Case is ignored when comparing. Example: `did you mean 'KV260'? (known: KV260, Ultra96)`.
    """
    names = sorted(candidates)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.5)
    known = f"known: {', '.join(names)}"
    return f"did you mean {by_folded[close[0]]!r}? ({known})" if close else known
