"""Stream modules of the RTL library as Yosys maps them, beside the HLS cost model.

    pip install pyosys
    python -m benchmarks.rtl_modules [--only TEXT]               (from the checkout's root)

A row has the module's measured sites (``low``: every pair of small LUTs and short shift registers
shares a site where it can, ``high``: none does) and the cost model's bounds for the same task.
Window buffers: the model's has the FIFOs between its row tasks and those it writes, as the
module's memories and output registers do the same. Nothing was placed.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost_model.netlist import sites, synthesise
from finn_resnet.boards import Resources
from finn_resnet.custom_ops.streams import StreamProfile
from finn_resnet.generation.rtl.rtl_network import fifo_module, library_files
from finn_resnet.parallelism.memory_cost import fifo_cost
from finn_resnet.parallelism.stream_task_cost import Picture, adapter_cost, dma_cost, fork_cost
from finn_resnet.parallelism.window_cost import WindowFactors, WindowShape, window_cost
from tests.rtl.bench import Bench, Device
from tests.rtl.test_dma import dma
from tests.rtl.test_fifo import fifo
from tests.rtl.test_fork import fork
from tests.rtl.test_width_adapter import adapter
from tests.rtl.test_window_buffer import Shape, window_buffer


@dataclass(frozen=True)
class Case:
    """A module with its parameters, and what the cost model says of the same task."""

    name: str
    device: Device
    model: Resources


def _window(s: Shape) -> Case:
    shape = WindowShape(
        *(s.ich, s.ih, s.iw, *s.out_size, *s.kernel, s.stride[1], s.pads[1]),
        forward=bool(s.forward),
        code_bits=s.bits,
    )
    style = "bram" if s.block else "lut"
    factors = WindowFactors(s.ich_par, s.ow_par, s.in_lanes, style, "rows")
    name = f"window {s.ih}x{s.iw}x{s.ich} ich_par {s.ich_par} ow_par {s.ow_par} {style}"
    return Case(f"{name}{' forward' * s.forward}", window_buffer(s), window_cost(shape, factors))


def _adapter(w: int, ch: int, in_ch_par: int, in_lanes: int, ch_par: int, lanes: int) -> Case:
    source, sink = StreamProfile(in_lanes, in_ch_par), StreamProfile(lanes, ch_par)
    name = f"adapter {w}x{ch}, {in_lanes} lanes of {in_ch_par} to {lanes} of {ch_par}"
    device = adapter(2, w, ch, in_ch_par, in_lanes, ch_par, lanes, 8)
    return Case(name, device, adapter_cost(Picture(2, w, ch), source, sink))


def _dma(ch: int, ch_par: int, lanes: int) -> list[Case]:
    devices = dma((4, 8, ch, ch_par, lanes, 1, 8, 0))
    model = dma_cost(StreamProfile(lanes, ch_par), 1, 16)
    return [Case(f"{d.module} {ch} ch_par {ch_par} lanes {lanes}", d, model) for d in devices]


def _fifo(width: int, depth: int) -> Case:
    module = fifo_module(depth, width)
    return Case(f"{module} {depth}x{width}", fifo(module, width, depth, 4), fifo_cost(depth, width))


def cases() -> list[Case]:
    """Shapes of ResNet8 and ResNet20, and their FIFOs."""
    return [
        _window(Shape(32, 32, 16, 4, 4, 4)),
        _window(Shape(32, 32, 16, 2, 5, 5)),
        _window(Shape(16, 16, 32, 3, 2, 2)),
        _window(Shape(16, 16, 32, 3, 2, 2, forward=1)),
        _window(Shape(16, 16, 32, 3, 2, 2, block=1)),
        _window(Shape(8, 8, 64, 3, 2, 2)),
        _adapter(32, 16, 4, 2, 4, 1),
        _adapter(32, 16, 4, 1, 1, 1),
        _adapter(32, 16, 1, 1, 4, 1),
        _adapter(32, 16, 3, 2, 4, 5),
        _adapter(32, 16, 5, 4, 2, 4),
        _adapter(8, 64, 1, 2, 64, 1),
        *_dma(3, 3, 1),
        *_dma(16, 4, 2),
        Case("fork 2x16 bits", fork(4, 8, 4, 2, 2, 2), fork_cost(2)),
        *(_fifo(*shape) for shape in ((16, 2), (16, 16), (64, 32), (64, 64), (8, 200), (16, 600))),
    ]


def measured(device: Device) -> dict[str, float]:
    """Sites of a module."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "bench.sv"
        source.write_text(Bench([device], Path(folder)).wrapper())
        library = [path for path in library_files() if path.suffix == ".sv"]
        return sites(synthesise("bench", {}, sources=[*library, source]))


def main() -> None:
    """Print a row for every case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    print("module | LUT RTL low..high, HLS low..high | FF RTL, HLS | BRAM36 RTL, HLS")
    for case in cases():
        if arguments.only not in case.name:
            continue
        rtl, hls = measured(case.device), case.model
        row = [
            case.name,
            f"{rtl['lut_low']:.0f}..{rtl['lut_high']:.0f}, {hls.lut_low:.0f}..{hls.lut:.0f}",
            f"{rtl['ff']:.0f}, {hls.ff:.0f}",
            f"{rtl['bram36']:g}, {hls.bram36:g}",
        ]
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
