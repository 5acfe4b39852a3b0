"""The page for users names every operator the program takes, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from finn_resnet.importing import read_model
from finn_resnet.importing.quantiser import QUANT_OPS
from finn_resnet.lowering import check_model
from finn_resnet.lowering.operators import HANDLERS
from tests.mixed_networks import differing_codes, pictures_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_network.md"


def test_operators_of_page_and_registry_are_the_same() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| group |")[1].split("\n\n")[0]
    named = set(re.findall(r"`([A-Za-z]+)`", table))
    # LinearQuant is what the importer makes of a QDQ pair, no operator of a file.
    assert named == {*HANDLERS, *QUANT_OPS} - {"LinearQuant"}


def snippet(heading: str) -> str:
    """The Python of a section of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def assert_maps_with_equal_codes(path: str) -> None:
    model = read_model(path)
    assert check_model(model) == []
    assert differing_codes(model, pictures_for(model, 3)) == {}


def test_brevitas_example(tmp_path, monkeypatch) -> None:
    pytest.importorskip("brevitas", reason="the extra train is not installed")
    monkeypatch.chdir(tmp_path)
    exec(snippet("From Brevitas"), {})
    assert_maps_with_equal_codes("net.onnx")


def float_resnet(rng: np.random.Generator) -> onnx.ModelProto:
    """Stem, a residual block, a strided block with projection, average and classifier."""
    nodes, constants = [], []

    def constant(shape: tuple[int, ...], name: str) -> str:
        values = rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        constants.append(numpy_helper.from_array(values, name))
        return name

    def node(op: str, inputs: list[str], **attributes: object) -> str:
        name = f"{op}{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def conv(x: str, ich: int, och: int, kernel: int = 3, stride: int = 1) -> str:
        name = f"w{len(nodes)}"
        inputs = [x, constant((och, ich, kernel, kernel), name), constant((och,), f"{name}_bias")]
        return node(
            "Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4
        )

    x = node("Relu", [conv("image", 3, 6)])
    inner = node("Relu", [conv(x, 6, 6)])
    x = node("Relu", [node("Add", [conv(inner, 6, 6), x])])
    inner = node("Relu", [conv(x, 6, 8, stride=2)])
    x = node("Relu", [node("Add", [conv(inner, 8, 8), conv(x, 6, 8, 1, 2)])])
    x = node("Flatten", [node("GlobalAveragePool", [x])])
    x = node("Gemm", [x, constant((5, 8), "dense"), constant((5,), "dense_bias")], transB=1)
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 8, 8])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["N", 5])], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Calibration:
    """Three random pictures, as onnxruntime's calibration asks for them."""

    def __init__(self) -> None:
        pictures = np.random.default_rng(1).normal(0, 1, (3, 1, 3, 8, 8)).astype(np.float32)
        self._left = [{"image": picture} for picture in pictures]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


@pytest.mark.parametrize("per_channel", [True, False])
def test_onnxruntime_example(tmp_path, monkeypatch, per_channel: bool) -> None:
    """As the page has it, and with its defaults: per tensor, and types as onnxruntime chooses."""
    monkeypatch.chdir(tmp_path)
    onnx.save(float_resnet(np.random.default_rng(2)), "float.onnx")
    text = snippet("From onnxruntime")
    assert "per_channel=True" in text
    if not per_channel:
        text = text.replace(", per_channel=True", "")
    exec(text, {"calibration_reader": Calibration()})
    assert_maps_with_equal_codes("net.onnx")
