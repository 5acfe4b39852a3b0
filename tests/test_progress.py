"""Progress displays: plain lines for logs, silence by default, the right one for the place."""

from __future__ import annotations

import io
import sys
import time
import warnings

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


def test_what_no_display_shows_is_logged(caplog):
    with caplog.at_level("DEBUG", logger="finn_resnet"):
        progress.current().begin("verify", 1, 2)
        progress.current().end("verify", 1.0)
        progress.current().note("kept: notes.txt")
    assert [record.getMessage() for record in caplog.records] == [
        "step 1 of 2: verify",
        "verify: 1.0 s",
        "kept: notes.txt",
    ]
    assert {record.name for record in caplog.records} == {"finn_resnet.progress"}


def test_a_notebook_gets_a_live_bar_unless_a_display_is_chosen(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    for widgets, kind in ((True, progress.LiveProgress), (False, progress.PlainProgress)):
        monkeypatch.setattr(progress, "find_spec", lambda name, there=widgets: there or None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rich misses ipywidgets, if they are
            with progress.for_notebook() as shown:
                assert isinstance(shown, kind) and progress.current() is shown
    chosen = progress.PlainProgress(io.StringIO())
    with progress.use(chosen), progress.for_notebook() as shown:
        assert shown is chosen
    monkeypatch.setattr("rich.console._is_jupyter", lambda: False)
    with progress.for_notebook():
        assert not isinstance(progress.current(), progress.LiveProgress)


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
