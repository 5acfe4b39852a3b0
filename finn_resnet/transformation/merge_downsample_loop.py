"""MergeDownsampleLoop: the 1x1 downsample convolution joins the loop of the block's first one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser
from finn_resnet.transformation.fork_branches import Branch, branches_of
from finn_resnet.transformation.graph_edit import (
    as_op,
    drop_fork_copy,
    nodes_of,
    require_hardware_graph,
    sort_nodes,
)


class MergeDownsampleLoop(Transformation):
    """Both convolutions read the same picture at the same stride, so one task computes both.

    The 1x1 convolution reads one tap of the window the k x k convolution already holds; its window
    buffer and its fork branch disappear, and the skip data needs no buffer until the merged task
    writes it. Where the two branches requantise the forked tensor differently, each convolution
    does so itself, on its taps.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        for fork in nodes_of(model, "StreamFork"):
            match = _match(model, fork)
            if match is not None:
                _merge(model, fork, match)
        sort_nodes(model)
        return model, False


@dataclass(frozen=True)
class _Match:
    main: Branch
    downsample: Branch


def _match(model: ModelWrapper, fork: NodeProto) -> _Match | None:
    """A k x k and a 1x1 convolution behind one fork that step over the picture alike."""
    convs = [b for b in branches_of(model, fork) if b.conv is not None]
    for downsample in convs:
        if not _is_plain(downsample, kernel_one=True):
            continue
        for main in convs:
            if main is not downsample and _is_plain(main) and _same_steps(main, downsample):
                return _Match(main, downsample)
    return None


def _is_plain(branch: Branch, kernel_one: bool = False) -> bool:
    op = as_op(branch.conv)
    small = op.attrs("fh", "fw") == (1, 1) and not any(op.get_nodeattr("pads"))
    plain = not op.has_downsample and not op.has_skip and not op.get_nodeattr("in_requant")
    return plain and (small or not kernel_one)


def _same_steps(main: Branch, downsample: Branch) -> bool:
    names = ("ih", "iw", "oh", "ow", "ich", "och", "stride")
    a, b = as_op(main.conv), as_op(downsample.conv)
    if a.attrs(*names) != b.attrs(*names):
        return False
    # The tap that sees pixel (row * stride, column * stride) is the one at (top, left).
    top, left = a.get_nodeattr("pads")[:2]
    return top < a.get_nodeattr("fh") and left < a.get_nodeattr("fw")


def _merge(model: ModelWrapper, fork: NodeProto, match: _Match) -> None:
    main, other = match.main, match.downsample
    conv, merged = as_op(main.conv), as_op(other.conv)
    if main.requant_json != other.requant_json:
        main.absorb_requant(model)
    # With equal requantisers the main branch keeps its task and both read its output.
    own = "" if main.requant_json == other.requant_json else other.requant_json
    top, left = conv.get_nodeattr("pads")[:2]
    conv.set_nodeattr("merge_downsample", 1)
    conv.set_nodeattr("ds_tap", [top, left])
    conv.set_nodeattr("ds_in_requant", own)
    codes = _tap_range(merged.input_range(), own, as_op(main.window).get_nodeattr("pad_value"))
    conv.set_nodeattr("ds_in_lo", codes.lo)
    conv.set_nodeattr("ds_in_hi", codes.hi)
    conv.set_nodeattr("ds_requant", merged.get_nodeattr("requant"))
    conv.set_nodeattr("ds_fused_tensors", merged.get_nodeattr("fused_tensors"))
    conv.set_nodeattr("ds_weight_bits", merged.get_nodeattr("weight_bits"))
    conv.onnx_node.input.extend([merged.weights, merged.bias])
    result = other.conv.output[0]
    other.remove(model)
    conv.onnx_node.output.append(result)
    drop_fork_copy(model, fork, other.copy)


def _tap_range(codes: Range, requant: str, pad_value: int) -> Range:
    """Codes at the 1x1 convolution: its own, and the padding in columns that no output reads."""
    map_ = Requantiser.from_json(requant)
    padding = map_(np.full((1, map_.channels), pad_value))
    return codes.including(int(padding.min())).including(int(padding.max()))
