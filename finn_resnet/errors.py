"""Errors a user can mend, told apart from faults of our own."""

from __future__ import annotations


class UserError(Exception):
    """Bad input or an impossible request: one line that says what, why and the remedy.

    The command line prints the message alone and exits with code 2; every other exception is a
    fault of ours and keeps its traceback.
    """
