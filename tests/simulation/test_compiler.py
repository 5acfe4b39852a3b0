from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.simulation.compiler import CompilationError, compile_project, find_compiler
from finn_resnet.simulation.size_streams import SizeStreams
from finn_resnet.transformation.set_stream_depths import SetStreamDepths


def test_the_compiler_of_the_environment_comes_first(cxx, monkeypatch):
    monkeypatch.setenv("CXX", cxx)
    assert find_compiler() == cxx


def test_a_compiler_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match="no-such-compiler"):
        find_compiler()


def test_no_compiler_at_all(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"install one or set CXX"):
        find_compiler()


def test_a_folder_without_project(tmp_path):
    with pytest.raises(UserError, match=r"project\.json"):
        compile_project(tmp_path)


@pytest.fixture
def copy(project_dir: Path, tmp_path: Path) -> Path:
    return shutil.copytree(project_dir, tmp_path / "copy")


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text(), count=1)
    assert count == 1
    path.write_text(text)


def test_the_same_project_is_compiled_once_whatever_its_depths(project_dir, copy):
    executable = compile_project(project_dir, timed=True)
    built = executable.stat().st_mtime_ns
    edit(copy / "net.cpp", r"(FR_NAMED\(conv1_weights_stream), 2\)", r"\1, 9)")
    edit(copy / "net.cpp", r"(variable=conv1_weights_stream) depth=2", r"\1 depth=9")
    edit(copy / "net.cpp", r"UNPROVEN", "proven")
    assert compile_project(copy, timed=True) == executable
    assert executable.stat().st_mtime_ns == built


def test_a_sized_design_is_compiled_already(residual_model, cxx, tmp_path):
    formulas = residual_model.transform(SetStreamDepths())
    before = generate_project(formulas, tmp_path / "before", "net")
    sized = formulas.transform(SizeStreams(frames=3, top_name="net"))
    after = generate_project(sized, tmp_path / "after", "net")
    assert before.streams != after.streams
    first, second = (compile_project(project.directory, timed=True) for project in (before, after))
    assert first == second


def test_a_changed_weight_makes_another_executable(project_dir, copy):
    weights = next(copy.glob("weights/*.inc"))
    first = re.search(r"-?\d+", weights.read_text()).group()
    edit(weights, re.escape(first), str(int(first) ^ 1))
    assert compile_project(copy) != compile_project(project_dir)


def test_a_source_that_does_not_compile(copy):
    edit(copy / "net.cpp", r"FR_DATAFLOW_END", "undeclared_name")
    with pytest.raises(CompilationError, match="undeclared_name"):
        compile_project(copy)
