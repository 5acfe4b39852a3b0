"""Factors by hand: applied everywhere they belong, exported again, refused when illegal."""

import json

import pytest
from qonnx.custom_op.registry import getCustomOp

from finn_resnet.boards import load_board
from finn_resnet.errors import UserError
from finn_resnet.parallelism import AnnotateParallelism, ApplyFolding, export_folding


def _ops(model):
    return {node.name: getCustomOp(node) for node in model.graph.node}


def test_factors_reach_buffer_parameters_and_followers(small_net):
    settings = {"och_par": 3, "ich_par": 5, "ow_par": 3, "mac_style": "lut", "mem_style": "lut"}
    ops = _ops(small_net.transform(ApplyFolding({"layer1_0_conv1": settings})))
    assert ops["layer1_0_conv1"].attrs("och_par", "ich_par", "ow_par") == (3, 5, 3)
    assert ops["layer1_0_conv1"].get_nodeattr("mac_style") == "lut"
    assert ops["layer1_0_conv1_buffer"].attrs("ich_par", "ow_par", "in_lanes") == (5, 3, 3)
    parameters = ops["layer1_0_conv1_parameters"]
    assert parameters.attrs("och_par", "ich_par", "repeats") == (3, 5, 16 * 6)
    assert parameters.get_nodeattr("mem_style") == "lut"
    # What is not named keeps its value.
    assert ops["layer1_0_conv0"].attrs("och_par", "ich_par", "ow_par") == (1, 1, 1)


def test_defaults_are_limited_to_each_node(small_net):
    folding = {
        "Defaults": {"och_par": 12, "ow_par": 2, "mem_style": "bram"},
        "classifier": {"och_par": 5},
    }
    ops = _ops(small_net.transform(ApplyFolding(folding)))
    assert ops["layer1_0_conv0"].attrs("och_par", "ow_par") == (8, 2)
    assert ops["layer2_0_conv1"].attrs("och_par", "ow_par") == (12, 2)
    assert ops["classifier"].attrs("och_par", "ow_par") == (5, 1)
    assert ops["pool"].attrs("ch_par", "ow_par") == (12, 2)


def test_export_and_apply_are_inverse(small_net, tmp_path):
    chosen = small_net.transform(AnnotateParallelism(load_board("KV260"), target_fps=50000))
    path = tmp_path / "folding.json"
    path.write_text(json.dumps(export_folding(chosen)))
    again = small_net.transform(ApplyFolding(path))
    assert again.model.SerializeToString() == chosen.model.SerializeToString()
    assert export_folding(small_net) != export_folding(chosen)


def test_finn_folding_files_are_understood(small_net):
    finn = {
        "Defaults": {"PE": [2, ["StreamConv"]], "mem_style": ["lut", ["all"]]},
        "layer1_0_conv1": {"PE": 4, "SIMD": 2 * 9},
    }
    own = {
        name: {"och_par": 2, "mem_style": "lut"}
        for name, op in _ops(small_net).items()
        if op.onnx_node.op_type == "StreamConv"
    }
    own["layer1_0_conv1"] |= {"och_par": 4, "ich_par": 2}
    one, other = (small_net.transform(ApplyFolding(folding)) for folding in (finn, own))
    assert _ops(one)["layer1_0_conv1"].attrs("och_par", "ich_par") == (4, 2)
    assert export_folding(one) == export_folding(other)


def test_a_merged_downsample_has_its_own_memory(small_net):
    folding = {"layer2_0_conv0": {"mem_style": "bram", "ds_mem_style": "lut"}}
    ops = _ops(small_net.transform(ApplyFolding(folding)))
    assert ops["layer2_0_conv0_parameters"].get_nodeattr("mem_style") == "bram"
    assert ops["layer2_0_conv0_ds_parameters"].get_nodeattr("mem_style") == "lut"
    with pytest.raises(UserError, match="ds_mem_style"):
        small_net.transform(ApplyFolding({"layer1_0_conv0": {"ds_mem_style": "lut"}}))


@pytest.mark.parametrize(
    ("folding", "message"),
    [
        ({"layer1_0_conv2": {}}, "did you mean 'layer1_0_conv"),
        ({"layer1_0_conv1": {"och_pra": 2}}, "did you mean 'och_par'"),
        ({"layer1_0_conv1": {"och_par": 9}}, "from 1 to 8"),
        ({"layer1_0_conv1": {"och_par": 0}}, "from 1 to 8"),
        ({"layer1_0_conv1": {"och_par": 2.0}}, "from 1 to 8"),
        ({"layer1_0_conv1": {"och_par": True}}, "from 1 to 8"),
        ({"layer1_0_conv1": {"ow_par": 17}}, "from 1 to 16"),
        ({"layer1_0_conv1": {"mac_style": "dps"}}, "dsp, lut"),
        ({"layer1_0_conv1": {"mem_style": ["bram"]}}, "bram, lut, uram"),
        ({"layer1_0_conv1": {"ow_par": 4, "in_lanes": 3}}, "1, 2, 4"),
        ({"layer2_0_conv0": {"ow_par": 1, "in_lanes": 4}}, "1, 2 "),
        ({"layer1_0_conv1": 4}, "JSON object"),
        ({"Defaults": {"parallel": 4}}, "folding default 'parallel'"),
        ({"Defaults": {"och_par": -4}}, "from 1 to"),
        ({"layer1_0_conv1": {"SIMD": 5}}, "multiple of its 9 taps"),
        ([], "JSON object"),
    ],
)
def test_illegal_foldings_are_refused(small_net, folding, message, tmp_path):
    path = tmp_path / "folding.json"
    path.write_text(json.dumps(folding))
    with pytest.raises(UserError, match=message) as error:
        small_net.transform(ApplyFolding(path))
    assert "\n" not in str(error.value)


def test_files_that_are_no_json_are_refused(small_net, tmp_path):
    path = tmp_path / "folding.json"
    path.write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        small_net.transform(ApplyFolding(path))
    with pytest.raises(UserError, match="cannot be read"):
        small_net.transform(ApplyFolding(tmp_path / "absent.json"))


def test_embedded_weights_by_hand(small_net):
    embedded = {"layer1_0_conv1": {"mem_mode": "internal_embedded"}}
    model = small_net.transform(ApplyFolding(embedded))
    ops = _ops(model)
    for name in ("layer1_0_conv1", "layer1_0_conv1_parameters"):
        assert ops[name].get_nodeattr("mem_mode") == "internal_embedded"
    assert export_folding(model)["layer1_0_conv1"]["mem_mode"] == "internal_embedded"
    embedded["layer1_0_conv1"]["mem_style"] = "uram"
    with pytest.raises(UserError, match=r"layer1_0_conv1.*uram.*internal_decoupled"):
        small_net.transform(ApplyFolding(embedded))


def test_window_rows_by_hand(small_net):
    rows = {"layer1_0_conv1": {"ow_par": 2, "buffer_style": "rows"}}
    model = small_net.transform(ApplyFolding(rows))
    ops = _ops(model)
    for name in ("layer1_0_conv1", "layer1_0_conv1_buffer"):
        assert ops[name].get_nodeattr("buffer_style") == "rows"
    assert export_folding(model)["layer1_0_conv1"]["buffer_style"] == "rows"
    with pytest.raises(UserError, match=r"classifier.*rows.*two rows.*slices"):
        small_net.transform(ApplyFolding({"classifier": {"buffer_style": "rows"}}))
