"""The sweep covers its points, resumes, and keeps what nothing beats."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.errors import UserError
from finn_resnet.parallelism.explore import (
    POINTS_FILE,
    SweepResult,
    explore,
    pareto_front,
    sweep_points,
)

results = st.lists(
    st.builds(
        SweepResult,
        key=st.text(max_size=4),
        board=st.sampled_from(["KV260", "Ultra96"]),
        mode=st.just("full"),
        dsp_share=st.just(1.0),
        fabric_share=st.just(1.0),
        cycles=st.integers(1, 4),
        dsp=st.integers(0, 3),
        lut=st.integers(0, 3),
        bram36=st.integers(0, 3),
    ),
    max_size=12,
)


def _no_worse(one, other):
    names = ("cycles", "dsp", "lut", "bram36")
    return all(getattr(one, name) <= getattr(other, name) for name in names)


@given(results)
def test_the_front_is_what_nothing_on_the_same_board_beats(points):
    front = pareto_front(points)
    for point in points:
        rivals = [r for r in front if r.board == point.board]
        assert any(_no_worse(rival, point) for rival in rivals)
    for one in front:
        for other in front:
            if one is not other and one.board == other.board:
                assert not _no_worse(one, other)


def test_points_without_a_design_are_not_on_the_front():
    bad = SweepResult("k", "KV260", "full", 1.0, 1.0, problem="too small")
    assert pareto_front([bad]) == []


def test_a_sweep_runs_in_processes_resumes_and_reports(small_net, tmp_path):
    points = sweep_points(["KV260"], ["paper"], [0.05, 1.0])
    seen = []
    first = explore(small_net, points[:3], tmp_path, workers=2, progress=lambda *x: seen.append(x))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    # An interrupted line is computed again, finished ones are not.
    with (tmp_path / POINTS_FILE).open("a") as log:
        log.write('{"key": "cut o')
    seen.clear()
    again = explore(small_net, points, tmp_path, workers=1, progress=lambda *x: seen.append(x))
    assert again[:3] == first and seen == [(4, 4)]
    whole = again[-1]
    assert whole.cycles and whole.fps == pytest.approx(250e6 / whole.cycles)
    for result in again:
        if result.problem:
            assert result.cycles is None and "no parallelism fits" in result.problem
        else:
            assert result.dsp <= 1248 * result.dsp_share
            assert whole.cycles <= result.cycles
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 5
    front = json.loads((tmp_path / "pareto.json").read_text())
    assert front["source"] == "cost model" and front["pareto"]
    assert explore(small_net, points, tmp_path) == again


def test_a_foreign_folder_and_bad_shares_are_refused(small_net, tmp_path):
    (tmp_path / POINTS_FILE).write_text('{"a": 1}\n{"b": 2}\n')
    with pytest.raises(UserError, match="line 1 is no sweep result"):
        explore(small_net, sweep_points(["KV260"], ["paper"], [1.0]), tmp_path)
    with pytest.raises(UserError, match=r"budget share 1\.5"):
        sweep_points(["KV260"], shares=[1.5])
    with pytest.raises(UserError, match="did you mean"):
        sweep_points(["KV2600"])


def test_caps_scale_with_the_shares():
    point = sweep_points(["Ultra96"], ["full"], [0.5])[0]
    assert point.caps() == {"dsp": 0.5, "lut": 0.35, "ff": 0.45, "bram36": 0.45, "uram": 0.45}
    assert replace(point, dsp_share=1.0).caps()["dsp"] == 1.0
