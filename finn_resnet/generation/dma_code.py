"""Code of the InputDMA and OutputDMA boundary nodes."""

from __future__ import annotations

from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.cpp import native_bytes
from finn_resnet.generation.task_code import BEAT_BYTES, NodeCode, NodeContext, TaskCall

_STAGES = 3


def dma_code(node: NodeContext, port: str) -> NodeCode:
    """Config and task; ``port`` is the AXI stream argument of the top function."""
    op = node.op
    is_input = op.onnx_node.op_type == "InputDMA"
    edge = node.outputs[0] if is_input else node.inputs[0]
    h, w, ch, ch_par, lanes, code_bytes, beat_bytes = op.attrs(
        "h", "w", "ch", "ch_par", "lanes", "code_bytes", "beat_bytes"
    )
    if beat_bytes != BEAT_BYTES:
        raise ValueError(f"{node.name}: beat_bytes = {beat_bytes}, the ports have {BEAT_BYTES}")
    if native_bytes(edge.codes) > code_bytes:
        raise ValueError(f"{node.name}: code_bytes = {code_bytes} cannot hold {edge.codes}")
    constants = {
        "h": h,
        "w": w,
        "ch": ch,
        "ch_par": ch_par,
        "lanes": lanes,
        "code_bytes": code_bytes,
        "code_bits": edge.codes.bits,
        "code_signed": edge.codes.signed,
    }
    doc = [f"{h}x{w}x{ch} codes of {code_bytes} bytes, in beats of {BEAT_BYTES} bytes."]
    struct = config_struct(node.config, doc, constants, {"token_t": edge.token_type})
    if is_input:
        call = f"fr::input_dma<{node.config}>({port}, {node.stream_out()})"
    else:
        call = f"fr::output_dma<{node.config}>({node.stream_in(0)}, {port})"
    task = TaskCall(node.name, call, op.onnx_node.op_type, _STAGES)
    return NodeCode(node.name, structs=[struct], tasks=[task])
