"""Width adapters: where layouts disagree, once per reader, codes unchanged, removable."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from qonnx.core.onnx_exec import execute_onnx
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.parallelism import ApplyFolding
from finn_resnet.transformation import InsertWidthAdapters, RemoveWidthAdapters
from finn_resnet.transformation.stream_profile import input_profile, output_profile
from tests.hardware_graphs import HardwareGraph


def _forked_network():
    graph = HardwareGraph(6, 6, 3)
    stem = graph.conv("stem", graph.input, 4)[0]
    long, skip = graph.fork("fork", stem)
    x = graph.conv("second", graph.conv("first", long, 4)[0], 4)[0]
    return graph.finish(graph.conv("last", graph.add("join", x, skip), 5)[0])


NETWORK = _forked_network()
NAMES = ("stem", "first", "second", "last")
foldings = st.fixed_dictionaries(
    {
        name: st.fixed_dictionaries(
            {
                "och_par": st.integers(1, 4),
                "ich_par": st.integers(1, 3),
                "ow_par": st.integers(1, 6),
            }
        )
        for name in NAMES
    }
)


@given(foldings)
def test_all_layouts_agree_afterwards(folding):
    model = NETWORK.transform(ApplyFolding(folding)).transform(InsertWidthAdapters())
    for node in model.graph.node:
        assert getCustomOp(node).verify_node() == []
        for index, tensor in enumerate(node.input):
            producer = model.find_producer(tensor)
            if producer is not None:
                source = output_profile(producer, list(producer.output).index(tensor))
                sink = input_profile(node, index)
                assert source is None or sink is None or source == sink


def test_codes_are_unchanged():
    folding = {
        "stem": {"och_par": 3, "ow_par": 2},
        "second": {"och_par": 2, "ow_par": 3},
        "last": {"ich_par": 4, "ow_par": 4},
    }
    model = NETWORK.transform(ApplyFolding(folding)).transform(InsertWidthAdapters())
    assert len(model.get_nodes_by_op_type("StreamWidthAdapter")) >= 3
    rng = np.random.default_rng(1)
    corner = np.full((1, 6, 6, 3), 255, np.float32)
    for picture in (corner, *rng.integers(0, 256, (3, 1, 6, 6, 3)).astype(np.float32)):
        expected = execute_onnx(NETWORK, {"input": picture})["output"]
        found = execute_onnx(model, {"input": picture})["output"]
        assert np.array_equal(found, expected)
        assert expected.any()


def test_every_reader_gets_its_own_adapter():
    model = NETWORK.transform(ApplyFolding({"stem": {"och_par": 4, "ow_par": 2}}))
    adapted = model.transform(InsertWidthAdapters())
    added = {n.output[0] for n in adapted.get_nodes_by_op_type("StreamWidthAdapter")}
    # The fork follows the stem; its two readers, first's buffer and the addition, do not.
    assert {name for name in added if name.startswith("fork")} == {
        "fork_0_for_first_buffer_0",
        "fork_1_for_join_1",
    }
    assert all(len(adapted.find_consumers(name)) == 1 for name in added)


def test_inserting_twice_and_removing():
    folded = NETWORK.transform(ApplyFolding({"stem": {"och_par": 4, "ow_par": 2}}))
    once = folded.transform(InsertWidthAdapters())
    twice = once.transform(InsertWidthAdapters())
    assert twice.model.SerializeToString() == once.model.SerializeToString()
    removed = once.transform(RemoveWidthAdapters())
    assert [n.name for n in removed.graph.node] == [n.name for n in folded.graph.node]
    assert [list(n.input) for n in removed.graph.node] == [list(n.input) for n in folded.graph.node]
    assert set(removed.get_all_tensor_names()) == set(folded.get_all_tensor_names())


def test_equal_layouts_get_none():
    model = NETWORK.transform(InsertWidthAdapters())
    assert not model.get_nodes_by_op_type("StreamWidthAdapter")
