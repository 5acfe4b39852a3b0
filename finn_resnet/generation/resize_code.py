"""Code of a StreamResize."""

from __future__ import annotations

import numpy as np

from finn_resnet.generation.config_struct import Member, config_struct, table_member
from finn_resnet.generation.registry import generates
from finn_resnet.generation.task_code import NodeCode, NodeContext, TaskCall
from finn_resnet.parallelism.coefficients import coefficient


@generates("StreamResize", header="resize.hpp")
def resize_code(node: NodeContext) -> NodeCode:
    """One task; what a step reads and where it finds its columns stands in tables."""
    names = ("h", "w", "ch", "ch_par", "lanes", "rows", "columns")
    sizes = dict(zip(names, node.op.attrs(*names), strict=True))
    constants: dict[str, Member] = {**sizes, **column_tables(**sizes)}
    doc = [f"Every pixel {sizes['rows']}x{sizes['columns']} times."]
    struct = config_struct(node.config, doc, constants, {"token_t": node.inputs[0].token_type})
    call = f"fr::stream_resize<{node.config}>({node.stream_in()}, {node.stream_out()})"
    stages = coefficient("adapter_stages")
    return NodeCode(node.name, [struct], tasks=[TaskCall(node.name, call, "StreamResize", stages)])


def column_tables(*, w: int, lanes: int, columns: int, **_: int) -> dict[str, Member]:
    """Tables by output column group; see `hls/resize.hpp`."""
    first = np.arange(0, w * columns, lanes)
    last = np.minimum(first + lanes, w * columns) - 1
    newest = last // columns // lanes
    banks = np.arange(lanes)
    start = (first // columns)[:, None]
    group = np.minimum((start + (banks - start) % lanes) // lanes, newest[:, None])
    bank = np.minimum(first[:, None] + banks, w * columns - 1) // columns % lanes
    return {
        "newest": newest.tolist(),
        "reads": (np.diff(newest, prepend=-1) > 0).tolist(),
        "group": table_member(group),
        "bank": table_member(bank),
    }
