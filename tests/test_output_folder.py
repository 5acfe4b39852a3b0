"""An output folder is replaced by a finished build alone, and what is the user's survives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from finn_resnet.errors import UserError
from finn_resnet.output_folder import (
    MARKER_NAME,
    check_output_folder,
    read_marker,
    staged_files,
    staged_output,
)

CHECKOUT = Path(__file__).resolve().parent.parent


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARKER_NAME
    }


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def make_build(target: Path, files: dict[str, str]) -> str:
    check_output_folder(target)
    with staged_output(target) as staging:
        write(staging, files)
    return read_marker(target)["build_id"]


@pytest.fixture
def earlier(tmp_path):
    make_build(tmp_path / "out", {"report.json": "{}", "hls/top.cpp": "old"})
    return tmp_path / "out"


def test_a_finished_build_takes_the_place_of_the_earlier_one(tmp_path, earlier):
    make_build(earlier, {"hls/new.cpp": "new"})
    assert tree(tmp_path) == {"out/hls/new.cpp": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_the_build_did_not_write_survives(tmp_path, earlier):
    first = read_marker(earlier)["build_id"]
    outside = tmp_path / "outside"
    write(outside, {"precious": "x"})
    mine = {"thesis.txt": "x", "explore/points.jsonl": "p", "report.html": "clash"}
    write(earlier, {**mine, "hls/top.bit": "bits", "hls/top.cpp": "edited"})
    (earlier / "data").symlink_to(outside)
    make_build(earlier, {"report.json": "2", "report.html": "new", "hls/top.cpp": "new"})
    kept = {"thesis.txt": "x", "explore/points.jsonl": "p"}
    apart = {"hls/top.bit": "bits", "hls/top.cpp": "edited", "report.html": "clash"}
    expected = {"report.json": "2", "report.html": "new", "hls/top.cpp": "new", **kept}
    expected |= {f"earlier_{first}/{name}": text for name, text in apart.items()}
    assert tree(earlier) == expected
    assert (earlier / "data").is_symlink() and tree(outside) == {"precious": "x"}

    write(earlier, {"hls/top.bit": "second"})
    second = make_build(earlier, {"report.json": "3"})
    assert second != first
    found = tree(earlier)
    assert found["thesis.txt"] == "x" and found[f"earlier_{first}/hls/top.bit"] == "bits"
    assert "second" in found.values() and "edited" in found.values()


def test_equal_builds_have_equal_ids(tmp_path):
    one = make_build(tmp_path / "a", {"hls/x": "1", "report.json": "monday"})
    assert make_build(tmp_path / "b", {"hls/x": "1", "report.json": "tuesday"}) == one
    assert make_build(tmp_path / "c", {"hls/x": "2", "report.json": "monday"}) != one


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, UserError])
def test_a_failed_build_leaves_the_earlier_one_and_nothing_else(tmp_path, earlier, fault):
    before = tree(tmp_path)
    with pytest.raises(fault), staged_output(earlier) as staging:
        write(staging, {"new.txt": "new"})
        raise fault
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def python(program: str, *arguments: Path) -> subprocess.Popen:
    program = (
        "import resource, sys, time; from pathlib import Path\n"
        "from finn_resnet.output_folder import staged_output\n" + program
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_build_leaves_the_earlier_one_and_nothing_else(tmp_path, earlier, number):
    before = tree(tmp_path)
    running = python(
        "with staged_output(Path(sys.argv[1])) as staging:\n"
        "    (staging / 'new').write_text('x'); print('ready', flush=True); time.sleep(60)",
        earlier,
    )
    assert running.stdout.readline() == "ready\n"
    running.send_signal(number)
    running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_disk_without_space_leaves_the_earlier_build(tmp_path, earlier):
    before = tree(tmp_path)
    running = python(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with staged_output(Path(sys.argv[1])) as staging:\n"
        "    (staging / 'new').write_text('x' * 100000)",
        earlier,
    )
    _, err = running.communicate(timeout=30)
    assert "UserError: output folder" in err and "make space" in err
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_missing_parents_are_made(tmp_path):
    make_build(tmp_path / "a" / "b", {"x": "x"})
    assert tree(tmp_path) == {"a/b/x": "x"}


def test_what_is_no_build_is_not_replaced(tmp_path, earlier, monkeypatch):
    mine = tmp_path / "mine"
    mine.mkdir()
    check_output_folder(mine)
    for foreign in ("report.json", MARKER_NAME):
        write(mine, {"thesis.txt": "x", foreign: json.dumps({"any": 1})})
        with pytest.raises(UserError, match="are not replaced"):
            check_output_folder(mine)
    with pytest.raises(UserError, match="is a file"):
        check_output_folder(mine / "thesis.txt")
    with pytest.raises(UserError, match="lies inside the output folder"):
        check_output_folder(earlier, [earlier / "hls" / "top.cpp"])
    monkeypatch.chdir(earlier)
    with pytest.raises(UserError, match="holds the current folder"):
        check_output_folder(earlier)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(UserError, match="cannot be written: Not a directory"),
        staged_output(tmp_path / "file" / "out"),
    ):
        pytest.fail("the block must not run")


def test_staged_files_leave_others_alone(tmp_path):
    write(tmp_path / "hls", {"mine.bit": "x", "include/a.hpp": "old"})
    with pytest.raises(RuntimeError), staged_files(tmp_path / "hls") as staging:
        write(staging, {"include/a.hpp": "new"})
        raise RuntimeError
    assert tree(tmp_path) == {"hls/mine.bit": "x", "hls/include/a.hpp": "old"}
    with staged_files(tmp_path / "hls") as staging:
        write(staging, {"include/a.hpp": "new"})
    assert tree(tmp_path) == {"hls/mine.bit": "x", "hls/include/a.hpp": "new"}
