"""Progress displays: plain lines for logs, silence by default, the right one for the place."""

from __future__ import annotations

import io
import sys
import time

from finn_resnet import progress


def test_plain_progress_shows_steps_and_that_a_long_one_goes_on():
    stream = io.StringIO()
    with progress.use(progress.PlainProgress(stream, every=0.01)):
        progress.current().begin("verify", 2, 3)
        progress.current().update(3, 1000)
        while "so far" not in stream.getvalue():
            time.sleep(0.01)
        progress.current().end("verify", 1.25)
        ended = stream.getvalue()
        progress.current().begin("report", 3, 3)
    lines = ended.splitlines()
    assert lines[-1] == "[2/3] verify: 1.2 s"
    assert any(line.startswith("[2/3] verify: 3 of 1000, ") for line in lines[:-1]), lines


def test_the_display_is_silent_outside_a_use_block(capsys):
    progress.current().begin("verify", 1, 1)
    progress.current().update(1, 1)
    progress.current().end("verify", 1.0)
    assert capsys.readouterr() == ("", "")


def test_the_display_in_use_is_closed_on_a_fault():
    class Closing(progress.Progress):
        closed = False

        def close(self) -> None:
            self.closed = True

    display = Closing()
    try:
        with progress.use(display):
            raise RuntimeError
    except RuntimeError:
        pass
    assert display.closed
    assert progress.current() is not display


def test_live_progress_keeps_finished_steps(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    display = progress.for_terminal()
    assert isinstance(display, progress.LiveProgress)
    with progress.use(display):
        display.begin("generate", 1, 2)
        display.update(3, 4)
        display.end("generate", 0.5)
        display.note("pip install 'x[plot]'")
    assert "generate" in terminal.getvalue()
    assert "pip install 'x[plot]'" in terminal.getvalue()


def test_logs_get_plain_lines_and_quiet_gets_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(progress.for_terminal(), progress.PlainProgress)
    assert type(progress.for_terminal(quiet=True)) is progress.Progress
