"""What a build says about itself: report.json and the terminal tables."""

from __future__ import annotations

from finn_resnet.report.report_file import SECTIONS, read_report, update_report

__all__ = ["SECTIONS", "read_report", "update_report"]
