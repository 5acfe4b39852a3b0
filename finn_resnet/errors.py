"""Errors a user can mend, told apart from faults of our own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_NAMES_SHOWN = 24


class UserError(Exception):
    """Bad input or an impossible request: one line that says what, why and the remedy.

    The command line prints the message alone and exits with `exit_code`; every other exception is
    a fault of ours (exit code 70).
    """

    exit_code = 2


class DeadlockError(UserError):
    """The design stands still; the message names the tasks and the depths that free it."""

    exit_code = 3


class InternalFault(Exception):
    """A fault of ours while working on the named node; the cause is chained."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Clause that helps after an unknown name: the nearest candidate and all of them if few.

    Case is ignored when comparing. Example: `did you mean 'KV260'? (known: KV260, Ultra96)`.
    """
    names = sorted(candidates)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.5)
    few = len(names) <= _MOST_NAMES_SHOWN
    known = f"known: {', '.join(names)}" if few else f"{len(names)} names are known"
    return f"did you mean {by_folded[close[0]]!r}? ({known})" if close else known
