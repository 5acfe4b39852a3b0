"""Convolutions of the RTL library as Yosys maps them, beside the HLS cost model.

    pip install pyosys
    python -m benchmarks.rtl_engines [--only TEXT]               (from the checkout's root)

Layers of ResNet8 and ResNet20 with random weights of 7 bits, at factors the search chooses or near
them; weights lie in the task, in LUTs or block RAM for both alike. A row has the RTL's measured
sites (``low``: every pair of small LUTs and short shift registers shares a site where it can,
``high``: none does) and the cost model's bounds for the same node, its weights and its output
streams. Nothing was placed. Pictures are small, since their size only moves counters.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from qonnx.custom_op.registry import getCustomOp

from benchmarks.cost_model.netlist import sites, synthesise
from finn_resnet.boards import load_board
from finn_resnet.generation.rtl.conv_node import LUT_WORDS
from finn_resnet.generation.rtl.rtl_network import library_files
from finn_resnet.parallelism.estimate import estimate
from tests.generation.rtl.conv_devices import conv_devices
from tests.stream_graphs import UINT8, FusedGraph


@dataclass(frozen=True)
class Case:
    """A layer and its factors (och_par, ich_par, ow_par); ``form``: plain, skip or downsample."""

    ich: int
    och: int
    kernel: int
    factors: tuple[int, int, int]
    mac_style: str = "dsp"
    form: str = "plain"

    @property
    def name(self) -> str:
        """In words."""
        shape = f"{self.kernel}x{self.kernel} {self.ich}-{self.och} {self.factors}"
        return f"{shape} {self.mac_style} {self.form}"

    def graph(self) -> FusedGraph:
        """Window buffer, weights and convolution."""
        graph, pad = FusedGraph(1), self.kernel // 2
        x = graph.input((8, 8, self.ich), UINT8)
        weights = graph.random_weights(self.och, self.kernel, self.kernel, self.ich, bits=7)
        options = {"pads": (pad,) * 4, "factors": self.factors, "mac_style": self.mac_style}
        if self.form == "skip":
            skip = graph.input((8, 8, self.och), UINT8)
            options |= {"skip": skip, "skip_form": "epilogue", "shifts": (0, 1)}
        if self.form == "downsample":
            options |= {"ds_weights": graph.random_weights(self.och, 1, 1, self.ich, bits=7)}
            options |= {"ds_tap": (1, 1), "stride": (2, 2)}
        for edge in graph.conv("conv", x, weights, out=UINT8, **options):
            graph.output(edge)
        return graph


CASES = [
    Case(3, 16, 3, (4, 3, 2)),
    Case(16, 16, 3, (2, 1, 2)),
    Case(16, 16, 3, (4, 1, 2)),
    Case(16, 16, 3, (4, 1, 2), form="skip"),
    Case(16, 16, 3, (16, 1, 2)),
    Case(16, 16, 3, (5, 1, 3)),
    Case(16, 32, 3, (4, 1, 2), form="downsample"),
    Case(32, 32, 3, (4, 1, 2)),
    Case(64, 64, 3, (4, 1, 2), form="skip"),
    Case(16, 16, 3, (2, 1, 1), "lut"),
    Case(64, 10, 1, (1, 2, 1)),
]


def modelled(case: Case) -> dict[str, float]:
    """The HLS cost model's bounds for the convolution and its weights."""
    model = case.graph().model()
    for node in model.get_nodes_by_op_type("ParameterStream"):
        op = getCustomOp(node)
        och, ich, och_par, ich_par = op.attrs("och", "ich", "och_par", "ich_par")
        words = -(-och // och_par) * -(-ich // ich_par)
        op.set_nodeattr("mem_style", "lut" if words <= LUT_WORDS else "bram")
    layers = estimate(model, load_board("KV260")).layers
    own = [layer for layer in layers if layer.name in ("conv", "conv_weights", "conv_ds_weights")]
    return {
        "dsp": sum(layer.dsp for layer in own),
        "lut_low": sum(layer.low["lut"] for layer in own),
        "lut_high": sum(layer.lut for layer in own),
        "ff": sum(layer.ff for layer in own),
        "bram36": sum(layer.bram36 for layer in own),
    }


def measured(case: Case) -> dict[str, float]:
    """The RTL's sites."""
    ((circuit, device),) = conv_devices(case.graph(), count=1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{device.module}.sv"
        source.write_text(circuit.text)
        library = [path for path in library_files() if path.suffix == ".sv"]
        return sites(synthesise(device.module, {}, sources=[*library, source]))


def main() -> None:
    """Print a row for every case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    print("layer | DSP RTL, HLS | LUT RTL low..high, HLS low..high | FF RTL, HLS | BRAM36 RTL, HLS")
    for case in CASES:
        if arguments.only not in case.name:
            continue
        started = time.perf_counter()
        rtl, hls = measured(case), modelled(case)
        luts = ["{lut_low:.0f}..{lut_high:.0f}".format(**found) for found in (rtl, hls)]
        pairs = [
            f"{rtl[name]:g}, {hls[name]:g}" if name != "ff" else f"{rtl[name]:.0f}, {hls[name]:.0f}"
            for name in ("dsp", "ff", "bram36")
        ]
        row = [case.name, pairs[0], ", ".join(luts), pairs[1], pairs[2]]
        print(" | ".join(row), f"({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
