"""Progress of long steps: a live bar on a terminal, plain lines elsewhere, silence on request.

Where nothing is shown, as for a caller in Python, the same goes to the logger of this module.

Any room reports to `current()`; whoever drives a run chooses the display with `use`. All text goes
to standard error, so that standard output stays clean for results.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TextIO

_log = logging.getLogger(__name__)


class Progress:
    """A display that shows nothing, but logs what the others show; the base of the others."""

    def begin(self, step: str, index: int, total: int) -> None:
        """Step number `index` (from 1) of `total` starts."""
        _log.debug("step %d of %d: %s", index, total, step)

    def update(self, done: int, total: int) -> None:
        """`done` of `total` units of the running step are finished."""

    def end(self, step: str, seconds: float) -> None:
        """The running step finished after `seconds`."""
        _log.info("%s: %.1f s", step, seconds)

    def note(self, text: str) -> None:
        """One line the user should see, whatever the display."""
        _log.info("%s", text)

    def close(self) -> None:
        """Leave the terminal as it was found."""


class PlainProgress(Progress):
    """One line for each finished step, and one every `every` seconds of a long one; for logs."""

    def __init__(self, stream: TextIO | None = None, every: float = 5.0) -> None:
        self._stream = stream or sys.stderr
        self._every = every
        self._position, self._count, self._start = "", "", 0.0
        self._running: threading.Event | None = None

    def begin(self, step: str, index: int, total: int) -> None:
        """See `Progress.begin`."""
        self._stop()
        self._position, self._count = f"[{index}/{total}] {step}", ""
        self._start = time.monotonic()
        self._running = threading.Event()
        threading.Thread(target=self._tick, args=[self._running], daemon=True).start()

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(self._every):
            seconds = time.monotonic() - self._start
            self.note(f"{self._position}: {self._count}{seconds:.0f} s so far")

    def _stop(self) -> None:
        if self._running is not None:
            self._running.set()

    def update(self, done: int, total: int) -> None:
        """See `Progress.update`."""
        self._count = f"{done} of {total}, "

    def end(self, step: str, seconds: float) -> None:
        """See `Progress.end`."""
        self._stop()
        self.note(f"{self._position}: {seconds:.1f} s")

    def close(self) -> None:
        """See `Progress.close`."""
        self._stop()

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        print(text, file=self._stream, flush=True)


class LiveProgress(Progress):
    """A bar over the steps and, where a step counts, a bar inside it; for terminals."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._rich = RichProgress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._steps = self._rich.add_task("build", total=None)
        self._inner = self._rich.add_task("", total=None, visible=False)
        self._rich.start()

    def begin(self, step: str, index: int, total: int) -> None:
        """See `Progress.begin`."""
        self._rich.update(self._steps, description=step, completed=index - 1, total=total)

    def update(self, done: int, total: int) -> None:
        """See `Progress.update`."""
        self._rich.update(self._inner, completed=done, total=total, visible=True)

    def end(self, step: str, seconds: float) -> None:
        """See `Progress.end`."""
        self._rich.update(self._steps, advance=1)
        self._rich.update(self._inner, visible=False)
        self._rich.console.print(f"[green]✓[/green] {step} [dim]{seconds:.1f} s[/dim]")

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        # Brackets of a text are its own, not rich's markup.
        self._rich.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        """See `Progress.close`."""
        self._rich.stop()


_SILENT = Progress()
_current: contextvars.ContextVar[Progress] = contextvars.ContextVar("progress", default=_SILENT)


def current() -> Progress:
    """The display in use; a silent one unless a driver chose another."""
    return _current.get()


@contextlib.contextmanager
def use(progress: Progress) -> Iterator[Progress]:
    """Make `progress` the current display inside the `with` block, and close it after."""
    token = _current.set(progress)
    try:
        yield progress
    finally:
        _current.reset(token)
        progress.close()


def for_notebook() -> contextlib.AbstractContextManager[Progress]:
    """In a notebook, where no display is chosen: bars (which take ipywidgets), else plain lines."""
    from rich.console import Console

    if current() is not _SILENT or not Console().is_jupyter:
        return contextlib.nullcontext(current())
    return use(LiveProgress() if find_spec("ipywidgets") else PlainProgress())


def for_terminal(quiet: bool = False) -> Progress:
    """The display that suits standard error: live on a terminal, else plain lines."""
    if quiet:
        return _SILENT
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()
