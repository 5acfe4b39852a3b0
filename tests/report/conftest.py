"""An output folder that the report tests share."""

from __future__ import annotations

import pytest

from finn_resnet.generation.project_file import Project, ProjectPort
from finn_resnet.output_folder import HLS_FOLDER, INTERMEDIATE_FOLDER
from finn_resnet.report.report_file import start_report, update_report
from finn_resnet.transformation import LowerToHardware
from tests.qonnx_models import residual_network
from tests.report.test_table import REPORT


@pytest.fixture
def output(tmp_path):
    """An output folder with a full report, a port description and two graphs."""
    start_report(tmp_path)
    for section, value in REPORT.items():
        update_report(tmp_path, section, value)
    read, written = (
        ProjectPort(name, name, name, shape, 1, True)
        for name, shape in (("input", (1, 8, 8, 3)), ("output", (1, 1, 1, 10)))
    )
    (tmp_path / HLS_FOLDER).mkdir()
    project = Project(
        tmp_path, "net", (), (read,), (written,), None, streams=(), tensors=(), tasks=(), probes=()
    )
    project.write(tmp_path / HLS_FOLDER)
    (tmp_path / INTERMEDIATE_FOLDER).mkdir()
    graph = residual_network().transform(LowerToHardware())
    for name in ("01_lower_to_hardware", "02_generate"):
        graph.save(str(tmp_path / INTERMEDIATE_FOLDER / f"{name}.onnx"))
    return tmp_path
