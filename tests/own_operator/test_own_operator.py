"""What the package promises to those who extend it: operator, board and step from outside."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from onnx import helper

from finn_resnet.build import build
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.transformation import LowerToHardware
from finn_resnet.transformation.graph_edit import nodes_of
from tests.own_operator import stream_neg
from tests.qonnx_models import ModelBuilder


def negating_network():
    """A block whose skip branch is negated, and a negation the first convolution reads."""
    net = ModelBuilder(3)
    x = net.quant(net.node("Neg", [net.quant("image", -7)]), -7)
    x = net.relu(net.conv(x, 3, 4, 3))
    main = net.quant(net.conv(net.relu(net.conv(x, 4, 4, 3)), 4, 4, 3), -5)
    x = net.relu(net.node("Add", [main, net.node("Neg", [x])]))
    x = net.quant(net.node("GlobalAveragePool", [x]), -5, signed=False)
    return net.model(net.quant(net.conv(x, 4, 5, 1), -4), [1, 3, 8, 8], [1, 5, 1, 1])


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("own") / "negating.onnx"
    negating_network().save(str(path))
    return str(path)


@pytest.mark.parametrize("mode", ["paper", "full"])
def test_an_operator_from_outside_is_built_simulated_and_verified(model, mode, cxx, tmp_path):
    config = BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), mode=mode)
    report = build(config).report
    assert [r["op"] for r in report["layers"]].count("StreamNeg") == 2
    assert report["verification"]["mismatched_codes"] == 0
    assert report["verification"]["compared_codes"] > 10_000
    assert report["simulation"]["deadlock"] is None
    # A frame of 128 cycles or less: the restart of a task shows beside it.
    slowest = report["throughput"]["cycles_per_frame"]
    assert slowest <= report["simulation"]["cycles_per_frame"] <= slowest + 40
    assert (tmp_path / "out" / "hls" / "include" / "neg.hpp").is_file()


def test_a_wrong_operator_is_caught(model, cxx, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_neg.StreamNeg, "compute", lambda self, inputs: [inputs[0]])
    lowered = LowerToHardware().apply(negating_network())[0]
    assert len(nodes_of(lowered, "StreamNeg")) == 2
    header = tmp_path / "neg.hpp"
    text = stream_neg.Path(stream_neg.__file__).with_name("neg.hpp").read_text()
    header.write_text(text.replace("= -x.v[k]", "= x.v[k]"))
    monkeypatch.setitem(
        stream_neg.generates.__globals__["GENERATORS"],
        "StreamNeg",
        stream_neg.generates.__globals__["Generator"](stream_neg.neg_code, (header,)),
    )
    config = BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), mode="paper")
    assert build(config).report["verification"]["mismatched_codes"] > 0


def board_of_ones_own(tmp_path) -> str:
    shipped = json.loads(files("finn_resnet.boards").joinpath("kv260.json").read_text())
    shipped |= {"name": "bench", "aliases": [], "clock_mhz": 100.0}
    shipped["budget"] |= {"dsp": 40}
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(shipped))
    return str(path)


def step_that_rounds_up(model, cfg):
    """Give every convolution at least two output channels a cycle."""
    from finn_resnet.parallelism import ApplyFolding

    return model.transform(ApplyFolding({"Defaults": {"och_par": 2}}))


def step_that_breaks(model, cfg):
    """Leave a stream with two readers."""
    add = nodes_of(model, "StreamAdd")[0]
    add.input[0] = add.input[1]
    return model


def step_that_resizes(model, cfg):
    """Claim a wider picture than the neighbours have."""
    from finn_resnet.transformation.graph_edit import as_op

    as_op(nodes_of(model, "StreamAdd")[0]).set_nodeattr("w", 9)
    return model


def step_that_forgets(model, cfg):
    """Return nothing."""


OWN = f"{__name__}."


def test_a_board_and_a_step_from_outside(model, cxx, tmp_path):
    steps = [
        "step_lower_to_hardware",
        "step_fuse_requant_chains",
        OWN + "step_that_rounds_up",
        "step_insert_width_adapters",
        "step_set_stream_depths",
        "step_generate",
        "step_estimate",
        "step_verify",
    ]
    board = board_of_ones_own(tmp_path)
    report = build(BuildConfig(model, board, output_dir=str(tmp_path / "out"), steps=steps)).report
    assert report["board"]["name"] == "bench" and report["board"]["clock_mhz"] == 100.0
    assert {r["och_par"] for r in report["layers"] if r["op"] == "StreamConv"} == {2}
    assert report["verification"]["mismatched_codes"] == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("step_that_breaks", "readers"),
        ("step_that_resizes", r"writes 8x8x4 .* reads 8x9x4"),
        ("step_that_forgets", "returned NoneType"),
    ],
)
def test_a_step_is_blamed_for_the_graph_it_leaves(model, tmp_path, step, message):
    steps = ["step_lower_to_hardware", OWN + step, "step_generate"]
    with pytest.raises(UserError, match=message) as error:
        build(BuildConfig(model, "KV260", output_dir=str(tmp_path / "out"), steps=steps))
    assert f"step '{OWN}{step}'" in str(error.value)


def test_an_operator_without_cost_or_code_is_named(monkeypatch):
    from finn_resnet.generation.registry import GENERATORS, generator_of
    from finn_resnet.parallelism.costs import COSTS, cost_of

    node = helper.make_node("StreamNeg", ["a"], ["b"], name="n", domain="finn_resnet.custom_ops")
    op = stream_neg.StreamNeg(node)
    monkeypatch.delitem(GENERATORS, "StreamNeg")
    monkeypatch.delitem(COSTS, ("StreamNeg", op.role))
    with pytest.raises(UserError, match="StreamNeg has no C\\+\\+ generator"):
        generator_of("StreamNeg")
    with pytest.raises(UserError, match="StreamNeg \\(node n\\) has no cost as follower"):
        cost_of(op)
