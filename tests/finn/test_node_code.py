"""C++ of single nodes as IPs, compiled with the vendor's integer headers, against Python."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.errors import UserError
from finn_resnet.finn.node_code import node_ip
from finn_resnet.finn.node_simulation import compile_node, run_node
from finn_resnet.finn.plain_node import plain_op, streams_first
from finn_resnet.importing import TidyQonnx
from finn_resnet.parallelism import ApplyFolding
from finn_resnet.simulation.ap_headers import find_ap_headers
from finn_resnet.simulation.runner import SimulationError
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    InsertWidthAdapters,
    LowerToHardware,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from tests.mixed_networks import branching_network
from tests.qonnx_models import residual_network

# Nothing divides: 3 lanes of 8 columns, 3 of 4 and 6 channels.
RAGGED = {"Defaults": {"och_par": 3, "ich_par": 3, "ow_par": 3}}
OPTIMISATIONS = (MergeDownsampleLoop(), ForwardWindowBuffer(), AbsorbAddIntoAccumulator("exact"))


def hardware_graph(model: ModelWrapper, *, optimised: bool) -> ModelWrapper:
    model = model.transform(TidyQonnx())
    steps = [LowerToHardware(), FuseRequantChains()]
    steps += OPTIMISATIONS if optimised else ()
    steps += [ApplyFolding(RAGGED), InsertWidthAdapters(), SetStreamDepths()]
    for step in steps:
        model = model.transform(step)
    return model


@pytest.fixture(scope="module")
def optimised() -> ModelWrapper:
    return hardware_graph(residual_network(), optimised=True)


@pytest.fixture(scope="module")
def unoptimised() -> ModelWrapper:
    return hardware_graph(residual_network(), optimised=False)


@pytest.fixture(scope="module")
def branches() -> ModelWrapper:
    return hardware_graph(branching_network(), optimised=True)


@pytest.fixture
def ap_headers() -> Path:
    try:
        return find_ap_headers()
    except UserError as reason:
        pytest.skip(str(reason))


def first(model: ModelWrapper, op_type: str, **attributes: object) -> NodeProto:
    """First node of a type whose attributes have these values."""
    return next(
        node
        for node in model.get_nodes_by_op_type(op_type)
        if all(getCustomOp(node).get_nodeattr(k) == v for k, v in attributes.items())
    )


def corner_codes(model: ModelWrapper, tensor: str, shape: tuple[int, ...]) -> np.ndarray:
    """Four frames: lowest codes, highest codes, two at random."""
    dtype = model.get_tensor_datatype(tensor)
    low, high = int(dtype.min()), int(dtype.max())
    frames = np.random.default_rng(5).integers(low, high + 1, (4, *shape[1:]))
    frames[0], frames[1] = low, high
    return frames


def inputs_of(model: ModelWrapper, node: NodeProto) -> list[np.ndarray]:
    """Values of all inputs by position: pictures of corner codes, the model's own constants."""
    op, values = getCustomOp(node), []
    for index, tensor in enumerate(node.input):
        producer = model.find_producer(tensor)
        if producer is None or producer.op_type == "ParameterStream":
            name = tensor if producer is None else producer.input[0]
            constant = model.get_initializer(name)
            if constant is not None:
                values.append(constant.astype(np.int64))
                continue
        picture = corner_codes(model, tensor, op.input_streams()[index].shape)
        values.append(picture)
    return values


def buffered_windows(model: ModelWrapper, node: NodeProto) -> list[np.ndarray]:
    """Inputs of a convolution whose windows were cut from one picture, as a buffer cuts them."""
    values = inputs_of(model, node)
    buffer = model.find_producer(node.input[0])
    values[0] = getCustomOp(buffer).compute(inputs_of(model, buffer))[0]
    return values


def run(model: ModelWrapper, node: NodeProto, values: list[np.ndarray], folder: Path):
    op = getCustomOp(node)
    ip = node_ip(op, model, node.name)
    ip.write(folder)
    executable = compile_node(folder, ip.name, ip.ports)
    words = [
        (
            op.input_streams()[index].fold(values[index]),
            model.get_tensor_datatype(node.input[index]),
        )
        for index in streams_first(op)
        if op.input_streams()[index] is not None
    ]
    outputs = [
        (op.output_streams()[index], model.get_tensor_datatype(tensor))
        for index, tensor in enumerate(node.output)
    ]
    return run_node(executable, 4 if words else 1, words, outputs)


CASES = {
    "input": ("optimised", "InputDMA", {}),
    "output": ("optimised", "OutputDMA", {}),
    "forwarding buffer": ("optimised", "WindowBuffer", {"forward": 1}),
    "weights": ("optimised", "ParameterStream", {}),
    "convolution with skip": ("optimised", "StreamConv", {"skip": "epilogue"}),
    "convolution with downsample": ("optimised", "StreamConv", {"merge_downsample": 1}),
    "pool": ("optimised", "StreamPool", {}),
    "fork": ("unoptimised", "StreamFork", {}),
    "addition": ("unoptimised", "StreamAdd", {}),
    "depthwise convolution": ("branches", "StreamGroupedConv", {}),
    "concatenation": ("branches", "StreamConcat", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_ip_of_a_node_computes_what_the_node_does(case, request, cxx, ap_headers, tmp_path):
    graph, op_type, attributes = CASES[case]
    model = request.getfixturevalue(graph)
    node = first(model, op_type, **attributes)
    values = (buffered_windows if op_type.endswith("Conv") else inputs_of)(model, node)
    expected = getCustomOp(node).compute(values)
    found = run(model, node, values, tmp_path)
    assert len(found) == len(expected)
    for got, codes in zip(found, expected, strict=True):
        assert np.array_equal(got, codes)


def test_a_changed_weight_shows(optimised, cxx, ap_headers, tmp_path):
    node = first(optimised, "ParameterStream")
    values = inputs_of(optimised, node)
    run(optimised, node, values, tmp_path)
    (table,) = (tmp_path / "weights").iterdir()
    text = table.read_text()
    # the lowest bit of the first word is that of the first weight
    changed = re.sub(r"(\d+)u", lambda found: f"{int(found[1]) ^ 1}u", text, count=1)
    assert changed != text
    table.write_text(changed)
    ip = node_ip(getCustomOp(node), optimised, node.name)
    executable = compile_node(tmp_path, ip.name, ip.ports)
    stream = getCustomOp(node).output_streams()[0]
    dtype = optimised.get_tensor_datatype(node.output[0])
    (found,) = run_node(executable, 1, [], [(stream, dtype)])
    assert np.count_nonzero(found != values[0]) == 1


def test_a_missing_word_is_reported(optimised, cxx, ap_headers, tmp_path):
    node = first(optimised, "OutputDMA")
    op, ip = getCustomOp(node), node_ip(getCustomOp(node), optimised, node.name)
    ip.write(tmp_path)
    executable = compile_node(tmp_path, ip.name, ip.ports)
    words = op.input_streams()[0].fold(inputs_of(optimised, node)[0])[:, :, :, :-1]
    dtype = optimised.get_tensor_datatype(node.input[0])
    with pytest.raises(SimulationError, match="too short"):
        run_node(executable, 4, [(words, dtype)], [(op.output_streams()[0], dtype)])


def test_streams_come_before_constants_and_back(optimised):
    node = first(optimised, "StreamConv", merge_downsample=1)
    op = getCustomOp(node)
    layer = NodeProto.FromString(node.SerializeToString())
    layer.op_type += "_hls"
    layer.input[:] = [node.input[index] for index in streams_first(op)]
    assert list(layer.input[:3]) == [node.input[0], node.input[1], node.input[3]]
    assert list(plain_op(layer).onnx_node.input) == list(node.input)


@pytest.mark.parametrize(
    ("op_type", "name", "value"),
    [
        ("ParameterStream", "mem_style", "uram"),
        ("ParameterStream", "mem_mode", "internal_embedded"),
        ("StreamConv", "mem_mode", "internal_embedded"),
        ("WindowBuffer", "buffer_style", "rows"),
    ],
)
def test_what_finn_cannot_connect_is_refused(optimised, op_type, name, value):
    model = ModelWrapper(optimised.model, make_deepcopy=True)
    node = first(model, op_type)
    getCustomOp(node).set_nodeattr(name, value)
    with pytest.raises(UserError, match=rf"{node.name}.*{value}.*choose"):
        node_ip(getCustomOp(node), model, node.name)
