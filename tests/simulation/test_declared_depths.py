from __future__ import annotations

import re
import shutil

import pytest

from finn_resnet.errors import UserError
from finn_resnet.generation.project import declaration
from finn_resnet.generation.project_file import load_project
from finn_resnet.generation.task_code import StreamDeclaration
from finn_resnet.simulation.declared_depths import declared_depths, demand_declared_depths
from finn_resnet.simulation.simulate import simulate_project

EDITS = {
    "pragma": ("net.cpp", r"(variable=conv1_weights_stream depth)=2", r"\1=3"),
    "declaration": ("net.cpp", r"(FR_NAMED\(conv1_weights_stream), 2\)", r"\1, 3)"),
    "project.json": (
        "project.json",
        r'("conv1_weights_stream",\s+"lanes": 0,\s+"depth"): 2',
        r"\1: 3",
    ),
}


def stream(lanes: int, depth: int) -> StreamDeclaration:
    return StreamDeclaration(
        name="s",
        token_type="token_t",
        lanes=lanes,
        depth=depth,
        width_bits=8,
        kind="activation",
        node="n",
        output=0,
        tensor="s",
    )


@pytest.mark.parametrize("lanes", [0, 1, 40])
def test_both_forms_of_a_declaration_are_read(lanes):
    assert declared_depths(declaration(stream(lanes, 23))) == {"s": {23}}


def test_declarations_that_disagree_with_their_pragma():
    text = declaration(stream(17, 23)).replace("(s, 23)", "(s, 24)")
    assert declared_depths(text) == {"s": {23, 24}}


def test_a_generated_project_declares_what_is_simulated(project_dir):
    project = load_project(project_dir)
    declared = declared_depths((project_dir / "net.cpp").read_text())
    assert declared == {item.name: {item.depth} for item in project.streams}
    demand_declared_depths(project)


@pytest.mark.parametrize("edit", EDITS)
def test_other_depths_than_those_declared_are_not_simulated(project_dir, tmp_path, edit):
    copy = shutil.copytree(project_dir, tmp_path / "copy")
    name, pattern, replacement = EDITS[edit]
    text, count = re.subn(pattern, replacement, (copy / name).read_text())
    assert count == 1
    (copy / name).write_text(text)
    with pytest.raises(UserError, match="'conv1_weights_stream'"):
        simulate_project(copy)


def test_a_stream_that_is_not_declared(project_dir, tmp_path):
    copy = shutil.copytree(project_dir, tmp_path / "copy")
    text = (copy / "net.cpp").read_text().replace("conv1_weights_stream", "renamed")
    (copy / "net.cpp").write_text(text)
    with pytest.raises(UserError, match="'conv1_weights_stream' with depth no"):
        demand_declared_depths(load_project(copy))
