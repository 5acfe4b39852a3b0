"""Code of the InputDMA and OutputDMA boundary nodes."""

from __future__ import annotations

from finn_resnet.generation.config_struct import config_struct
from finn_resnet.generation.cpp import native_bytes
from finn_resnet.generation.edges import Edge
from finn_resnet.generation.registry import generates
from finn_resnet.generation.task_code import BEAT_BYTES, NodeCode, NodeContext, TaskCall
from finn_resnet.parallelism.coefficients import coefficient


@generates("InputDMA", header="dma.hpp")
def input_dma_code(node: NodeContext) -> NodeCode:
    """Config and task from the AXI port to the stream."""
    call = f"fr::input_dma<{node.config}>({node.port}, {node.stream_out()})"
    return _dma_code(node, node.outputs[0], call)


@generates("OutputDMA", header="dma.hpp")
def output_dma_code(node: NodeContext) -> NodeCode:
    """Config and task from the stream to the AXI port."""
    call = f"fr::output_dma<{node.config}>({node.stream_in()}, {node.port})"
    return _dma_code(node, node.inputs[0], call)


def _dma_code(node: NodeContext, edge: Edge, call: str) -> NodeCode:
    op = node.op
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
    task = TaskCall(node.name, call, op.onnx_node.op_type, coefficient("dma_stages"))
    return NodeCode(node.name, structs=[struct], tasks=[task])
