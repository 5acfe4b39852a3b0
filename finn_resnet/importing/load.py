"""Read a model file and bring it to the one form the rest of the compiler expects."""

from __future__ import annotations

import shutil
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.image_set import check_memory
from finn_resnet.importing.tidy import TidyQonnx
from finn_resnet.model_source import find_model


def read_model(path: str | Path) -> ModelWrapper:
    """The model as the file holds it, untouched.

    Raises:
        UserError: the file is missing, unreadable or no ONNX model.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"model file {path} does not exist; give a QONNX file")
    try:
        proto = onnx.load(path)
        onnx.checker.check_model(_standard_part(proto))
    except (DecodeError, OSError, onnx.checker.ValidationError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "empty file"
        raise UserError(
            f"{path} is not a readable ONNX model ({reason}); export it again"
        ) from None
    if not proto.graph.node:
        raise UserError(f"{path} holds no nodes; export the model again")
    _drop_repeated_shapes(proto)
    return ModelWrapper(proto)


def load_model(path: str | Path) -> ModelWrapper:
    """Read and tidy a QONNX (or QCDQ) model; the import step of every flow.

    Args:
        path: a file, or the name of a shipped model.

    Raises:
        UserError: as `read_model` and `TidyQonnx`, or an input that no memory holds.
    """
    model = read_model(path if Path(path).is_file() else find_model(str(path)))
    for value in model.graph.input:
        shape = model.get_tensor_shape(value.name) or [0]
        # Shape inference executes nodes: float32 and float64 of the input at least.
        check_memory(f"model input '{value.name}'", 1, (*shape[2:], *shape[:2]), 4 + 8)
    return model.transform(TidyQonnx())


def copy_model(path: str | Path, target: Path) -> None:
    """Copy of a model file that needs no other file: external data go into it.

    A file without external data is copied byte by byte.
    """
    bare = onnx.load(path, load_external_data=False)
    if any(external_data_helper.uses_external_data(t) for t in bare.graph.initializer):
        onnx.save(onnx.load(path), target)
    else:
        shutil.copyfile(path, target)


def _drop_repeated_shapes(proto: onnx.ModelProto) -> None:
    """Shapes that exporters list a second time for inputs and outputs, which qonnx refuses."""
    graph = proto.graph
    known = {tensor.name for tensor in (*graph.input, *graph.output)}
    for info in [info for info in graph.value_info if info.name in known]:
        graph.value_info.remove(info)


def _standard_part(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Copy whose custom domains are all declared, so that onnx checks the rest."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    declared = {entry.domain for entry in copy.opset_import}
    for domain in {node.domain for node in copy.graph.node} - declared:
        copy.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    for node in copy.graph.node:
        if node.op_type in ("Quant", "IntQuant") and not node.domain:
            node.domain = "qonnx.custom_op.general"
            if "qonnx.custom_op.general" not in declared:
                copy.opset_import.append(onnx.helper.make_opsetid(node.domain, 1))
                declared.add(node.domain)
    return copy
