"""InsertWidthAdapters and RemoveWidthAdapters: streams between unequal neighbours."""

from __future__ import annotations

from onnx import helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.base import Transformation

from finn_resnet.custom_ops import DOMAIN
from finn_resnet.transformation.graph_edit import (
    Reader,
    nodes_of,
    readers,
    remove_node,
    require_hardware_graph,
    sort_nodes,
)
from finn_resnet.transformation.stream_profile import (
    StreamProfile,
    input_profile,
    output_picture,
    output_profile,
)


class InsertWidthAdapters(Transformation):
    """Put a StreamWidthAdapter on every edge whose two ends disagree on lanes or channels.

    Run it after the unroll factors are set and before stream depths. Running it again changes
    nothing.
    """

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        require_hardware_graph(model, self)
        for reader, tensor, source, sink in _mismatches(model):
            _insert(model, reader, tensor, source, sink)
        sort_nodes(model)
        model.set_opset_import(DOMAIN, 1)
        return model, False


class RemoveWidthAdapters(Transformation):
    """Take every StreamWidthAdapter out again, so that unroll factors can be chosen anew."""

    def apply(self, model: ModelWrapper) -> tuple[ModelWrapper, bool]:
        """See class."""
        for adapter in nodes_of(model, "StreamWidthAdapter"):
            for reader in readers(model, adapter.output[0]):
                reader.rewire(adapter.input[0])
            remove_node(model, adapter)
        return model, False


def _mismatches(
    model: ModelWrapper,
) -> list[tuple[Reader, str, StreamProfile, StreamProfile]]:
    """Edges that need an adapter: reader, tensor, layout written, layout read."""
    found = []
    for node in model.graph.node:
        if node.domain != DOMAIN:
            continue
        for index, tensor in enumerate(node.input):
            producer = model.find_producer(tensor)
            if producer is None or producer.domain != DOMAIN:
                continue
            source = output_profile(producer, list(producer.output).index(tensor))
            sink = input_profile(node, index)
            if source is not None and sink is not None and source != sink:
                found.append((Reader(node, index), tensor, source, sink))
    return found


def _insert(
    model: ModelWrapper, reader: Reader, tensor: str, source: StreamProfile, sink: StreamProfile
) -> None:
    producer = model.find_producer(tensor)
    h, w, ch = output_picture(producer, list(producer.output).index(tensor)).size
    # A tensor may have several readers, each with an adapter of its own.
    name = f"{reader.node.name}_adapter{reader.index}"
    adapted = f"{tensor}_for_{reader.node.name}_{reader.index}"
    node = helper.make_node(
        "StreamWidthAdapter",
        [tensor],
        [adapted],
        name=name,
        domain=DOMAIN,
        h=h,
        w=w,
        ch=ch,
        in_lanes=source.lanes,
        in_ch_par=source.ch_par,
        out_lanes=sink.lanes,
        out_ch_par=sink.ch_par,
    )
    model.graph.node.append(node)
    model.set_tensor_shape(adapted, [1, h, w, ch])
    model.set_tensor_datatype(adapted, model.get_tensor_datatype(tensor))
    reader.rewire(adapted)
