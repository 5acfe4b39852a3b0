"""A search is kept by everything that decides it, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from finn_resnet.boards import load_board
from finn_resnet.cache_folder import CACHE_VARIABLE
from finn_resnet.importing import load_model
from finn_resnet.parallelism import AnnotateParallelism
from finn_resnet.parallelism.coefficients import replaced_coefficients
from finn_resnet.parallelism.milp import ParallelismSearch
from finn_resnet.transformation import LowerToHardware
from tests.qonnx_models import residual_network


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    residual_network().save(str(tmp_path / "net.onnx"))
    return load_model(tmp_path / "net.onnx").transform(LowerToHardware())


def solved(graph, board="KV260", mode="paper", **options):
    search = AnnotateParallelism(load_board(board), mode, **options)
    return graph.transform(search), search.solution


def test_the_same_search_is_done_once(graph, tmp_path, monkeypatch):
    model, first = solved(graph)

    def never(self):
        raise AssertionError("searched again")

    monkeypatch.setattr(ParallelismSearch, "fastest", never)
    again, second = solved(graph)
    assert second == first
    assert again.model.SerializeToString(deterministic=True) == model.model.SerializeToString(
        deterministic=True
    )
    for changed in ({"board": "Ultra96"}, {"mode": "full"}, {"caps": {"dsp": 0.5}}):
        with pytest.raises(AssertionError, match="searched again"):
            solved(graph, **changed)
    with (
        replaced_coefficients({"conv_task_lut": {"high": 99}}),
        pytest.raises(AssertionError, match="searched again"),
    ):
        solved(graph)


def test_a_damaged_entry_is_searched_again(graph, tmp_path):
    _, first = solved(graph)
    (entry,) = (tmp_path / "cache" / "searches").iterdir()
    entry.write_text(entry.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    _, second = solved(graph)
    assert second.factors == first.factors and second.cycles == first.cycles
