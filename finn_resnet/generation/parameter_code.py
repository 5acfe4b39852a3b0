"""Code of a ParameterStream: a constant memory and the task that streams it."""

from __future__ import annotations

import numpy as np

from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.cpp import array_range, code_type
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall, WeightMemory
from finn_resnet.numerics.dsp_packing import tap_order

_MEMORY = {
    "lut": "type=rom_1p impl=lutram",
    "bram": "type=rom_1p impl=bram",
    "uram": "type=rom_1p impl=uram",
}
_STAGES = 3


def weight_words(weights: np.ndarray, och_par: int, ich_par: int) -> np.ndarray:
    """Memory words ``[ceil(ich/ich_par) * ceil(och/och_par), och_par * ich_par * fh * fw]``.

    Order of the words: input channel group, output channel group (fastest); within a word output
    channel, input channel, kernel tap (fastest). Entries beyond the last channel are 0.

    Args:
        weights: integers ``[och, fh, fw, ich]``.
        och_par: output channels of a word.
        ich_par: input channels of a word.
    """
    rows = tap_order(weights, ich_par)
    och, in_groups, taps = rows.shape
    out_groups = -(-och // och_par)
    padded = np.zeros((out_groups * och_par, in_groups, taps), np.int64)
    padded[:och] = rows
    words = padded.reshape(out_groups, och_par, in_groups, taps).transpose(2, 0, 1, 3)
    return words.reshape(in_groups * out_groups, och_par * taps)


def parameter_code(node: NodeContext) -> NodeCode:
    """The memory, the function that owns it, and the task."""
    och_par, ich_par, repeats, mem_style = node.op.attrs(
        "och_par", "ich_par", "repeats", "mem_style"
    )
    edge = node.outputs[0]
    weights = node.constant(0)
    words = weight_words(weights, och_par, ich_par)
    found = array_range(words)
    if found.lo < edge.codes.lo or found.hi > edge.codes.hi:
        raise ValueError(f"{node.name}: weights {found} outside their datatype {edge.codes}")
    och, fh, fw, ich = weights.shape
    doc = [f"Weights [{och}][{fh}][{fw}][{ich}], {len(words)} words of {words.shape[1]}."]
    struct = config_struct(
        node.config,
        doc,
        {"words": len(words), "repeats": repeats},
        {"weight_t": code_type(edge.codes), "weights_t": edge.token_type},
    )
    function = "\n".join(
        [
            f"/// {doc[0]}",
            f"static void {node.name}_memory(fr::stream<{edge.token_type}>& out) {{",
            f"  static const {node.config}::weight_t weights[{len(words)}][{words.shape[1]}] = {{",
            f'#include "weights/{node.name}.inc"',
            "  };",
            "#pragma HLS array_reshape variable=weights complete dim=2",
            f"#pragma HLS bind_storage variable=weights {_MEMORY[mem_style]}",
            f"  fr::parameter_stream<{node.config}>(weights, out);",
            "}",
        ]
    )
    task = TaskCall(
        node.name, f"{node.name}_memory({node.stream_out()})", "ParameterStream", _STAGES
    )
    return NodeCode(
        node.name,
        structs=[struct],
        functions=[function],
        tasks=[task],
        memories=[WeightMemory(node.name, words)],
    )
