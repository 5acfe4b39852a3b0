"""Code of a ParameterStream: its memory, constant or loaded at start-up, and the task."""

from __future__ import annotations

import numpy as np

from finn_resnet.custom_ops.streams import weight_words
from finn_resnet.generation.config_struct import Member, config_struct
from finn_resnet.generation.cpp import array_range, code_type, native_bytes
from finn_resnet.generation.registry import generates
from finn_resnet.generation.task_code import (
    BEAT_BYTES,
    NodeCode,
    NodeContext,
    StreamDeclaration,
    TaskCall,
    WeightMemory,
)
from finn_resnet.parallelism.coefficients import coefficient

_MEMORY = {
    "lut": "type=rom_1p impl=lutram",
    "bram": "type=rom_1p impl=bram",
    "uram": "type=ram_s2p impl=uram",
}
_BEAT = "fr::parameter_beat"

DISTRIBUTOR = "parameter_distributor"
"""Name of the task that fills the loaded memories."""


@generates("ParameterStream", header=("parameters.hpp", "loaded_parameters.hpp"))
def parameter_code(node: NodeContext) -> NodeCode:
    """The memory, the function that owns it, and the task, unless the convolution has it inside."""
    och_par, ich_par, mem_style = node.op.attrs("och_par", "ich_par", "mem_style")
    edge = node.outputs[0]
    words = weight_words(node.constant("weights"), och_par, ich_par)
    found = array_range(words)
    if found.lo < edge.codes.lo or found.hi > edge.codes.hi:
        raise ValueError(f"{node.name}: weights {found} outside their datatype {edge.codes}")
    # UltraScale+ URAM cannot hold initial contents.
    memory = WeightMemory(node.name, words, mem_style == "uram", native_bytes(edge.codes))
    if node.op.is_embedded:
        return NodeCode(
            node.name,
            structs=[_struct(node, memory), f"struct {memory_type(node.name)};"],
            functions=[_embedded_memory(node, memory, mem_style)],
            memories=[memory],
        )
    return NodeCode(
        node.name,
        structs=[_struct(node, memory)],
        functions=[_function(node, memory, mem_style)],
        streams=[_load_stream(memory)] if memory.loaded else [],
        tasks=[_task(node, memory)],
        memories=[memory],
    )


def _doc(node: NodeContext, memory: WeightMemory) -> str:
    extents = "".join(f"[{extent}]" for extent in node.constant("weights").shape)
    words, entries = memory.words.shape
    return f"Weights {extents}, {words} words of {entries}{', loaded' if memory.loaded else ''}."


def _struct(node: NodeContext, memory: WeightMemory) -> str:
    edge = node.outputs[0]
    constants: dict[str, Member] = {
        "words": len(memory.words),
        "repeats": node.op.get_nodeattr("repeats"),
    }
    if memory.loaded:
        constants |= {
            "word_beats": memory.word_beats,
            "code_bytes": memory.code_bytes,
            "code_bits": edge.codes.bits,
            "code_signed": edge.codes.signed,
        }
    types = {"weight_t": code_type(edge.codes), "weights_t": edge.token_type}
    return config_struct(node.config, [_doc(node, memory)], constants, types)


def memory_type(node_name: str) -> str:
    """C++ type of an embedded memory; its static ``word(index)`` gives a token of weights."""
    return f"{node_name}_memory"


def _embedded_memory(node: NodeContext, memory: WeightMemory, mem_style: str) -> str:
    return "\n".join(
        [
            f"/// {_doc(node, memory)}",
            f"struct {memory_type(node.name)} {{",
            f"  static {node.outputs[0].token_type} word(int index) {{",
            "#pragma HLS inline",
            *_constant_array(node, memory),
            *_array_pragmas(mem_style),
            f"    return fr::weights_word<{node.config}>(weights, index);",
            "  }",
            "};",
        ]
    )


def _constant_array(node: NodeContext, memory: WeightMemory) -> list[str]:
    words, entries = memory.words.shape
    return [
        f"  static const {node.config}::weight_t weights[{words}][{entries}] = {{",
        f'#include "weights/{node.name}.inc"',
        "  };",
    ]


def _array_pragmas(mem_style: str) -> list[str]:
    return [
        "#pragma HLS array_reshape variable=weights complete dim=2",
        f"#pragma HLS bind_storage variable=weights {_MEMORY[mem_style]}",
    ]


def _function(node: NodeContext, memory: WeightMemory, mem_style: str) -> str:
    words, entries = memory.words.shape
    out = f"fr::stream<{node.outputs[0].token_type}>& out"
    if memory.loaded:
        arguments = f"fr::stream<{_BEAT}>& load, {out}"
        declaration = [f"  static {node.config}::weight_t weights[{words}][{entries}];"]
        call = f"fr::loaded_parameter_stream<{node.config}>(load, weights, out);"
    else:
        arguments = out
        declaration = _constant_array(node, memory)
        call = f"fr::parameter_stream<{node.config}>(weights, out);"
    return "\n".join(
        [
            f"/// {_doc(node, memory)}",
            f"static void {node.name}_memory({arguments}) {{",
            *declaration,
            *_array_pragmas(mem_style),
            f"  {call}",
            "}",
        ]
    )


def _task(node: NodeContext, memory: WeightMemory) -> TaskCall:
    streams = [*([memory.load_stream] if memory.loaded else []), node.stream_out()]
    call = f"{node.name}_memory({', '.join(streams)})"
    return TaskCall(node.name, call, "ParameterStream", coefficient("parameter_stages"))


def _load_stream(memory: WeightMemory) -> StreamDeclaration:
    return StreamDeclaration(
        name=memory.load_stream,
        token_type=_BEAT,
        lanes=0,
        depth=2,
        width_bits=8 * BEAT_BYTES,
        kind="load",
        node=memory.name,
        output=None,
    )


def distributor_code(memories: list[WeightMemory], port: str) -> NodeCode:
    """The task that hands every loaded memory its part of the beats of ``port``."""
    arguments = ", ".join(f"fr::stream<{_BEAT}>& {m.load_stream}" for m in memories)
    parts = [
        f"    fr::forward_parameters<{len(m.words) * m.word_beats}>(in, {m.load_stream});"
        for m in memories
    ]
    function = "\n".join(
        [
            "/// Hands the memories without initial contents their words, once.",
            f"static void {DISTRIBUTOR}_task(fr::stream<fr::axi_beat>& in, {arguments}) {{",
            "  static bool loaded = false;",
            "  if (!loaded) {",
            *parts,
            "  }",
            "  loaded = true;",
            "}",
        ]
    )
    call = f"{DISTRIBUTOR}_task({', '.join([port, *(m.load_stream for m in memories)])})"
    task = TaskCall(DISTRIBUTOR, call, "ParameterDistributor", coefficient("parameter_stages"))
    return NodeCode(DISTRIBUTOR, functions=[function], tasks=[task])


def parameter_bytes(memories: list[WeightMemory]) -> bytes:
    """The parameter file: every memory's words in turn, each in whole beats, little-endian."""
    parts = []
    for memory in memories:
        words, entries = memory.words.shape
        padded = np.zeros((words, memory.word_beats * BEAT_BYTES // memory.code_bytes), np.int64)
        padded[:, :entries] = memory.words
        # Two's complement: the bytes of an unsigned code are those of its signed wrap.
        parts.append(padded.astype(f"<i{memory.code_bytes}").tobytes())
    return b"".join(parts)
