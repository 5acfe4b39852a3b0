"""StreamGroupedConv: integer semantics against plain loops, legal factors, streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finn_resnet.custom_ops.streams import PictureStream, WeightStream
from tests.custom_ops.test_custom_ops import geometry, make


def layer(group: int, part: int, per: int, shape: dict, **attributes: object):
    return make(
        "StreamGroupedConv", 3, ich=group * part, och=group * per, group=group,
        in_lo=-128, in_hi=127, weight_bits=8, **{"och_par": per, **shape, **attributes},
    )  # fmt: skip


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_it_equals_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    ih, iw = int(rng.integers(f, 7)), int(rng.integers(f, 7))
    pads = [int(p) for p in rng.integers(0, f, 4)]
    group, part, per = (int(v) for v in rng.integers(1, 4, 3))
    shape = geometry(ih, iw, f, stride, pads)
    x = rng.choice([-128, 127, 0, 5], (2, ih, iw, group * part))
    weights = rng.integers(-128, 128, (group * per, f, f, part))
    bias = rng.integers(-1000, 1000, group * per)
    fill = int(rng.choice([-128, 0, 127]))
    window = make("WindowBuffer", ich=group * part, pad_value=fill, **shape)
    conv = layer(group, part, per, shape)
    assert conv.problems() == []
    found = conv.compute([window.compute([x])[0], weights, bias])[0]
    frame = ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0))
    padded = np.pad(x, frame, constant_values=fill)
    for n, r, c, o in np.ndindex(found.shape):
        first = o // per * part
        patch = padded[n, r * stride : r * stride + f, c * stride : c * stride + f]
        own = patch[:, :, first : first + part]
        assert found[n, r, c, o] == bias[o] + int((own * weights[o]).sum())


def test_streams_hold_whole_groups() -> None:
    conv = layer(6, 2, 3, geometry(5, 5, 3, 1, [1] * 4), och_par=12, ow_par=2)
    window, weights, bias = conv.input_streams()
    assert (window.ch, window.ch_par, window.ow_par) == (12, 8, 2)
    assert weights == WeightStream(18, 3, 3, 2, 12, 2, 15)
    assert bias is None
    assert conv.output_streams() == (PictureStream(5, 5, 18, 2, 12),)
    assert conv.products() == 12 * 2 * 2 * 9
    assert conv.mac_counts() == {(8, 8): 25 * 18 * 2 * 9}


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"och_par": 4}, "och_par = 4 must be a multiple of the 3 outputs of a group"),
        ({"och_par": 21}, "och_par = 21 must lie between 1 and och = 18"),
        ({"group": 5}, "group = 5 must divide ich = 12 and och = 18"),
        ({"group": 0}, "group = 0 must divide ich = 12 and och = 18"),
    ],
)
def test_what_is_no_whole_group_is_refused(attributes: dict, problem: str) -> None:
    conv = layer(6, 2, 3, geometry(5, 5, 3, 1, [1] * 4))
    for name, value in attributes.items():
        conv.set_nodeattr(name, value)
    assert problem in conv.problems()
