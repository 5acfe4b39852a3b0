"""Whether a usable FINN is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from finn_resnet.errors import UserError


def require_finn() -> None:
    """Check that FINN can be imported.

    Raises:
        UserError: FINN is missing, or finn-base has overwritten some of its files.
    """
    if _installed("finn-plus") and _installed("finn-base"):
        raise UserError(
            "finn-plus and finn-base are both installed, and overwrite each other's files; run "
            "'pip uninstall finn-base finn-plus', then 'pip install finn-plus'"
        )
    if find_spec("finn") is None or find_spec("finn.builder") is None:
        raise UserError(
            "FINN is not installed, and these build steps run inside it; install "
            "finn_resnet[finn], or use `finn-resnet build`, which needs no FINN"
        )


def _installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
