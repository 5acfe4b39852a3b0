"""Custom ops: registration, verified attributes, integer semantics against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from qonnx.custom_op.registry import getCustomOp

import finn_resnet.custom_ops as custom_ops
from finn_resnet.custom_ops.base import to_codes, to_container
from finn_resnet.custom_ops.stream_conv import accumulator_range
from finn_resnet.custom_ops.window import output_size
from finn_resnet.numerics.ranges import Range


def make(op: str, inputs: int = 1, outputs: int = 1, **attributes: object):
    node = helper.make_node(
        op,
        [f"i{k}" for k in range(inputs)],
        [f"o{k}" for k in range(outputs)],
        name=op.lower(),
        domain=custom_ops.DOMAIN,
        **attributes,
    )
    return getCustomOp(node)


def geometry(ih: int, iw: int, f: int, stride: int, pads: list[int]) -> dict[str, object]:
    oh = output_size(ih, f, stride, pads[0] + pads[2])
    ow = output_size(iw, f, stride, pads[1] + pads[3])
    return {
        "ih": ih, "iw": iw, "oh": oh, "ow": ow, "fh": f, "fw": f,
        "stride": [stride, stride], "pads": pads,
    }  # fmt: skip


def test_every_op_is_found_by_domain() -> None:
    for name, cls in custom_ops.custom_op.items():
        assert type(getCustomOp(helper.make_node(name, [], [], domain=custom_ops.DOMAIN))) is cls


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_window_buffer_and_convolution_equal_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    ih, iw = int(rng.integers(f, 8)), int(rng.integers(f, 8))
    pads = [int(p) for p in rng.integers(0, f, 4)]
    ich, och = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    shape = geometry(ih, iw, f, stride, pads)
    x = rng.choice([-128, 127, 0, 5], (2, ih, iw, ich))
    weights = rng.integers(-128, 128, (och, f, f, ich))
    bias = rng.integers(-1000, 1000, och)
    window = make("WindowBuffer", ich=ich, **shape)
    conv = make("StreamConv", 3, ich=ich, och=och, in_lo=-128, in_hi=127, weight_bits=8, **shape)
    assert window.problems() == [] and conv.problems() == []
    found = conv.compute([window.compute([x])[0], weights, bias])[0]
    padded = np.pad(x, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)))
    for n, r, c, o in np.ndindex(found.shape):
        patch = padded[n, r * stride : r * stride + f, c * stride : c * stride + f]
        assert found[n, r, c, o] == bias[o] + int((patch * weights[o]).sum())
    reach = accumulator_range(weights, bias, Range(-128, 127))
    assert reach.lo <= found.min() and found.max() <= reach.hi


def test_accumulator_range_is_reached_at_both_ends() -> None:
    weights = np.array([[[[-128, 127, 3]]]])
    found = accumulator_range(weights, np.array([7]), Range(0, 255))
    assert found == Range(7 - 128 * 255, 7 + 130 * 255)


def test_skip_forms_and_merged_downsample() -> None:
    shape = geometry(1, 1, 1, 1, [0] * 4)
    common = {"ich": 1, "och": 1, "in_lo": -128, "in_hi": 127, "weight_bits": 8, **shape}
    requant = '[{"kind":"shift","shift":2,"rounding":"ROUND","lo":-128,"hi":127}]'
    window, weights, bias = np.array([[[[6]]]]), np.array([[[[5]]]]), np.array([1])
    skip = np.array([[[[10]]]])
    added = make("StreamConv", 4, skip="accumulator", skip_shift=3, **common)
    assert added.compute([window, weights, bias, skip])[0].item() == 31 + 80
    epilogue = make(
        "StreamConv", 4, skip="epilogue", pre_requant=requant, acc_shift=1, skip_shift=0, **common
    )
    assert epilogue.compute([window, weights, bias, skip])[0].item() == (8 << 1) + 10
    merged = make("StreamConv", 5, 2, merge_downsample=1, ds_requant=requant, **common)
    both = merged.compute([window, weights, bias, np.array([[[[-3]]]]), np.array([2])])
    assert [b.item() for b in both] == [31, -4]
    assert added.problems() == epilogue.problems() == merged.problems() == []


@pytest.mark.parametrize(
    ("op", "attributes", "text"),
    [
        ("StreamConv", {"och_par": 9}, "och_par = 9 must lie between 1 and och = 4"),
        ("StreamConv", {"oh": 3}, "the geometry gives"),
        ("StreamConv", {"skip": "accumulator"}, "needs 4 inputs, found 3"),
        ("StreamConv", {"skip_shift": -1}, "must not be negative"),
        ("StreamConv", {"requant": '[{"kind":"lookup"}]'}, "unknown requantiser"),
        ("WindowBuffer", {"in_lanes": 3}, "in_lanes = 3 must divide ow_par * stride = 1"),
        ("WindowBuffer", {"forward": 1}, "needs 2 outputs"),
    ],
)
def test_illegal_attributes_are_named(op: str, attributes: dict, text: str) -> None:
    legal = {"ich": 2, **geometry(4, 4, 3, 1, [1] * 4)}
    if op == "StreamConv":
        legal |= {"och": 4, "in_lo": 0, "in_hi": 255, "weight_bits": 8}
    found = make(op, 3 if op == "StreamConv" else 1, **{**legal, **attributes}).verify_node()
    assert any(text in line for line in found), found
    assert all(line.startswith(op.lower()) for line in found)


def test_pool_ignores_padding_for_the_maximum_and_sums_for_the_average() -> None:
    x = np.array([[[[-5], [-7]], [[-3], [-9]]]])
    shape = geometry(2, 2, 2, 2, [1, 1, 1, 1])
    window = make("WindowBuffer", ich=1, pad_value=-128, **shape).compute([x])[0]
    largest = make("StreamPool", kind="max", ch=1, windowed=1, **shape).compute([window])[0]
    np.testing.assert_array_equal(largest.ravel(), [-5, -7, -3, -9])
    whole = make("StreamPool", kind="average", ch=1, windowed=0, **geometry(2, 2, 2, 1, [0] * 4))
    assert whole.compute([x])[0].item() == -24
    assert whole.total_range(Range(-9, 4)) == Range(-36, 16)


def test_containers_stay_exact_above_24_bits() -> None:
    codes = np.array([2**24 + 1, -(2**30) - 1])
    assert to_container(codes).dtype == np.float64
    np.testing.assert_array_equal(to_codes(to_container(codes)), codes)
    with pytest.raises(ValueError, match="fraction"):
        to_codes(np.array([0.5]))


def test_input_quantiser_saturates_and_rounds_half_to_even() -> None:
    op = make(
        "QuantizeInput", scale=0.5, bits=4, signed=1, narrow=1, rounding_mode="ROUND",
        shape=[1, 1, 1, 6],
    )  # fmt: skip
    picture = np.array([[[[-100, 100, 0.25, 0.75, 1.25, -0.25]]]], np.float32)
    np.testing.assert_array_equal(op.quantise(picture).ravel(), [-7, 7, 0, 2, 2, 0])
    assert op.output_shapes() == [(1, 1, 6, 1)]
