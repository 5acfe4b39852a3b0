"""Code of a StreamPool: windowed or global, maximum or average."""

from __future__ import annotations

from finn_resnet.generation.config_struct import Member, config_struct
from finn_resnet.generation.cpp import signed_bits
from finn_resnet.generation.project_file import ProjectProbe
from finn_resnet.generation.registry import generates
from finn_resnet.generation.requant_config import requant_config
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall
from finn_resnet.parallelism.coefficients import coefficient


@generates("StreamPool", header="pool.hpp")
def pool_code(node: NodeContext) -> NodeCode:
    """Config struct, task and probe of a pool."""
    op = node.op
    source, out = node.inputs[0], node.outputs[0]
    kind, windowed, ch, ch_par, lanes = op.attrs("kind", "windowed", "ch", "ch_par", "ow_par")
    oh, ow = op.attrs("oh", "ow")
    # A global pool adds up as it goes, so the sum passes through 0 and every part of the total.
    total = op.total_range(source.codes.including(0))
    requant = requant_config(op.requantiser(), total, f"{node.name}_requant", ch, ch_par)
    names = ("ih", "iw", "oh", "ow", "fh", "fw", "ch", "ch_par", "ow_par")
    constants: dict[str, Member] = {
        **dict(zip(names, op.attrs(*names), strict=True)),
        "stride_w": op.get_nodeattr("stride")[1],
        "kind": f"fr::pool_kind = fr::pool_kind::{kind}",
        "total_bits": signed_bits(total),
        "lowest_code": source.codes.lo,
        "weighted": bool(op.get_nodeattr("row_weights")),
        "out_bits": out.codes.bits,
        "out_signed": out.codes.signed,
        "total_probe": node.probe_id,
    }
    if constants["weighted"]:
        constants["row_weights"], constants["column_weights"] = op.weights()
    types = node.window_types() if windowed else {"in_t": source.token_type}
    types |= {"out_t": out.token_type, "requant": requant.type_name}
    fh, fw = op.attrs("fh", "fw")
    doc = [f"{kind.capitalize()} pool {fh}x{fw} to {oh}x{ow}x{ch}."]
    struct = config_struct(node.config, doc, constants, types)
    task = "window_pool" if windowed else "global_pool"
    call = f"fr::{task}<{node.config}>({node.stream_in()}, {node.stream_out()})"
    out_lanes = lanes if windowed else 1
    return NodeCode(
        node.name,
        [*requant.structs, struct],
        tasks=[TaskCall(node.name, call, "StreamPool", coefficient("pool_stages"))],
        probes=[
            ProjectProbe(node.probe_id, node.name, "total", (1, oh, ow, ch), out_lanes, ch_par)
        ],
    )
