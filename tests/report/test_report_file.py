"""report.json keeps its keys, fills section by section, and is read back or refused."""

from __future__ import annotations

import json

import pytest

from finn_resnet.errors import UserError
from finn_resnet.output_folder import REPORT_NAME
from finn_resnet.report.report_file import (
    SECTIONS,
    read_report,
    start_report,
    update_report,
)


def test_sections_are_filled_one_by_one(tmp_path):
    start_report(tmp_path)
    assert read_report(tmp_path) == dict.fromkeys(SECTIONS)
    update_report(tmp_path, "timings_s", {"generate": 0.5})
    update_report(tmp_path, "layers", [])
    report = read_report(tmp_path)
    assert report["timings_s"] == {"generate": 0.5}
    assert report["layers"] == []
    assert report["verification"] is None
    assert list(report) == list(SECTIONS)
    assert [path.name for path in tmp_path.iterdir()] == [REPORT_NAME]


def test_an_unknown_section_is_a_fault(tmp_path):
    start_report(tmp_path)
    with pytest.raises(ValueError, match="no section 'timing'"):
        update_report(tmp_path, "timing", {})


def test_a_value_json_cannot_hold_leaves_the_report_whole(tmp_path):
    start_report(tmp_path)
    with pytest.raises(ValueError):
        update_report(tmp_path, "timings_s", {"generate": float("nan")})
    assert read_report(tmp_path)["timings_s"] is None


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"model": 1}), "\xff"])
def test_damaged_reports_are_refused(tmp_path, content):
    (tmp_path / REPORT_NAME).write_text(content, encoding="latin-1")
    with pytest.raises(UserError):
        read_report(tmp_path)


def test_a_folder_without_a_build_is_refused(tmp_path):
    with pytest.raises(UserError, match="give the output folder"):
        read_report(tmp_path / "nowhere")
