"""project.json is written and read by the same dataclasses."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import PROJECT_FILE, Project, load_project


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(project=st.builds(Project, directory=st.just(Path())))
def test_what_is_written_is_read_again(project, tmp_path):
    project.write(tmp_path)
    found = load_project(tmp_path)
    assert found.directory == tmp_path
    for field in fields(Project)[1:]:
        assert getattr(found, field.name) == getattr(project, field.name)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.pop("streams"),
        lambda content: content.update(lanes=2),
        lambda content: content["tasks"].append({"name": "conv1"}),
        lambda content: content.update(parameters={"file": "parameters.bin"}),
    ],
)
def test_another_schema_is_refused(damage, tmp_path):
    Project(tmp_path, "net", (), (), (), None, (), (), (), ()).write(tmp_path)
    path = tmp_path / PROJECT_FILE
    assert load_project(tmp_path).top == "net"
    content = json.loads(path.read_text())
    damage(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="give the hls folder of a build"):
        load_project(tmp_path)
