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
from finn_resnet.generation.templates import render
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
    memory = WeightMemory(
        node.name, words, mem_style == "uram", native_bytes(edge.codes), edge.codes.bits
    )
    structs, functions = [_struct(node, memory)], [_functions(node, memory, mem_style)]
    if node.op.is_embedded:
        structs.append(f"struct {memory_type(node.name)};")
        return NodeCode(node.name, structs, functions, memories=[memory])
    return NodeCode(
        node.name,
        structs,
        functions,
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
        "loaded": memory.loaded,
        "code_bits": edge.codes.bits,
        "code_signed": edge.codes.signed,
    }
    if memory.loaded:
        constants |= {"word_beats": memory.word_beats, "code_bytes": memory.code_bytes}
    types = {"weight_t": code_type(edge.codes), "weights_t": edge.token_type}
    return config_struct(node.config, [_doc(node, memory)], constants, types)


def memory_type(node_name: str) -> str:
    """C++ type of an embedded memory; its static ``word(index)`` gives a token of weights."""
    return f"{node_name}_memory"


def _functions(node: NodeContext, memory: WeightMemory, mem_style: str) -> str:
    """The memory and the function (or, inside a convolution, the struct) that owns it."""
    return render(
        "parameters",
        part="memory",
        doc=_doc(node, memory),
        config=node.config,
        token=node.outputs[0].token_type,
        memory=memory,
        embedded=node.op.is_embedded,
        storage=_MEMORY[mem_style],
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
    function = render("parameters", part="distributor", name=DISTRIBUTOR, memories=memories)
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
