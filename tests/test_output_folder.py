"""An output folder is replaced whole by a finished build, and never otherwise."""

from __future__ import annotations

import pytest

from finn_resnet.errors import UserError
from finn_resnet.output_folder import REPORT_NAME, check_output_folder, staged_output


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def earlier(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / REPORT_NAME).write_text("{}")
    (folder / "old.txt").write_text("old")
    return folder


def test_a_finished_build_takes_the_place_of_the_earlier_one(tmp_path, earlier):
    check_output_folder(earlier)
    with staged_output(earlier) as staging:
        (staging / "new.txt").write_text("new")
    assert tree(tmp_path) == {"out/new.txt": "new"}


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, UserError])
def test_a_failed_build_leaves_the_earlier_one_and_nothing_else(tmp_path, earlier, fault):
    before = tree(tmp_path)
    with pytest.raises(fault), staged_output(earlier) as staging:
        (staging / "new.txt").write_text("new")
        raise fault
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_missing_parents_are_made(tmp_path):
    target = tmp_path / "a" / "b"
    check_output_folder(target)
    with staged_output(target) as staging:
        (staging / "x").write_text("x")
    assert tree(tmp_path) == {"a/b/x": "x"}


def test_what_is_no_build_is_not_replaced(tmp_path, earlier, monkeypatch):
    (tmp_path / "mine").mkdir()
    check_output_folder(tmp_path / "mine")
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="holds files that are no build"):
        check_output_folder(tmp_path / "mine")
    with pytest.raises(UserError, match="is a file"):
        check_output_folder(tmp_path / "mine" / "thesis.txt")
    with pytest.raises(UserError, match="lies inside the output folder"):
        check_output_folder(earlier, [earlier / "old.txt"])
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
