"""Files as exporters write them come out in one form, with the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from finn_resnet.errors import UserError
from finn_resnet.importing import TidyQonnx, load_model, read_model
from finn_resnet.importing.load import copy_model
from tests.qonnx_models import residual_network


def pictures(model: ModelWrapper, seed: int = 0) -> np.ndarray:
    shape = model.get_tensor_shape(model.graph.input[0].name)
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def output(model: ModelWrapper, x: np.ndarray) -> np.ndarray:
    found = execute_onnx(model, {model.graph.input[0].name: x})
    return found[model.graph.output[0].name]


@pytest.mark.parametrize("domain", ["onnx.brevitas", "finn.custom_op.general", ""])
@pytest.mark.parametrize("op_type", ["Quant", "IntQuant"])
def test_every_quant_spelling_loads(tmp_path: Path, domain: str, op_type: str) -> None:
    original = residual_network()
    expected = output(original.transform(TidyQonnx()), pictures(original))
    proto = onnx.ModelProto.FromString(original.model.SerializeToString())
    for node in proto.graph.node:
        if node.op_type == "Quant":
            node.op_type, node.domain = op_type, domain
    # Some exporters forget to declare the domain.
    for entry in [e for e in proto.opset_import if e.domain]:
        proto.opset_import.remove(entry)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    model = load_model(tmp_path / "model.onnx")
    np.testing.assert_array_equal(output(model, pictures(model)), expected)


def test_symbolic_batch_and_outputs_become_numbers(tmp_path: Path) -> None:
    original = residual_network()
    for tensor in (*original.graph.input, *original.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_param = "N"
    original.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "classes"
    original.save(str(tmp_path / "model.onnx"))
    model = load_model(tmp_path / "model.onnx")
    assert model.get_tensor_shape(model.graph.input[0].name)[0] == 1
    assert list(model.get_tensor_shape(model.graph.output[0].name)) == [1, 5, 1, 1]


def test_dynamic_picture_size_is_refused(tmp_path: Path) -> None:
    original = residual_network()
    original.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    original.save(str(tmp_path / "model.onnx"))
    with pytest.raises(UserError, match="dynamic size 'height' on axis 2"):
        load_model(tmp_path / "model.onnx")


def test_constant_nodes_and_weight_transposes_are_folded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 0.3, (4, 6)).astype(np.float32)
    names = ("scale", "zero", "bits")
    constants = [
        helper.make_node("Constant", [], [n], value=numpy_helper.from_array(np.float32(v)))
        for n, v in zip(names, (0.0625, 0, 8), strict=True)
    ]
    quant = {
        "domain": "qonnx.custom_op.general",
        "signed": 1,
        "narrow": 0,
        "rounding_mode": "ROUND",
    }
    nodes = [
        *constants,
        helper.make_node("Quant", ["x", *names], ["xq"], **quant),
        helper.make_node("Quant", ["w", *names], ["wq"], **quant),
        helper.make_node("Flatten", ["xq"], ["flat"]),
        helper.make_node("Transpose", ["wq"], ["wt"], perm=[1, 0]),
        helper.make_node("MatMul", ["flat", "wt"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, 1, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("qonnx.custom_op.general", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    x = rng.normal(0, 1, (1, 6, 1, 1)).astype(np.float32)
    before = output(read_model(tmp_path / "m.onnx").transform(InferShapes()), x)
    model = load_model(tmp_path / "m.onnx")
    assert {n.op_type for n in model.graph.node} == {"Quant", "Flatten", "MatMul"}
    np.testing.assert_array_equal(output(model, x), before)


def test_tidying_twice_changes_nothing() -> None:
    once = residual_network().transform(TidyQonnx())
    twice = once.transform(TidyQonnx())
    assert [n.name for n in once.graph.node] == [n.name for n in twice.graph.node]
    x = pictures(once)
    np.testing.assert_array_equal(output(once, x), output(twice, x))


def test_a_copy_holds_external_data(tmp_path: Path) -> None:
    model = residual_network()
    model.save(str(tmp_path / "whole.onnx"))
    split = tmp_path / "split.onnx"
    onnx.save(
        onnx.load(tmp_path / "whole.onnx"), split, save_as_external_data=True, location="data.bin",
        size_threshold=0,
    )  # fmt: skip
    copy_model(split, tmp_path / "copy.onnx")
    copy_model(tmp_path / "whole.onnx", tmp_path / "same.onnx")
    (tmp_path / "data.bin").unlink()
    copied = read_model(tmp_path / "copy.onnx")
    for initializer in model.graph.initializer:
        np.testing.assert_array_equal(
            copied.get_initializer(initializer.name), numpy_helper.to_array(initializer)
        )
    assert (tmp_path / "same.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    with pytest.raises(UserError):
        read_model(split)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x07\x12\x04junk" * 9])
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_model(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        load_model(tmp_path / "none.onnx")


def test_shared_models_keep_their_outputs(shared_models: Path) -> None:
    raw = read_model(shared_models / "resnet8_a8w8b16.onnx")
    x = np.random.default_rng(2).random((1, 3, 32, 32)).astype(np.float32)
    tidy = raw.transform(TidyQonnx())
    np.testing.assert_array_equal(output(tidy, x), output(raw, x))
