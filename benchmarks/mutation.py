"""Mutants of generated C++: is every wrong design caught?

    python -m benchmarks.mutation [--rows rows.jsonl] [NAME ...]      (from the checkout's root)

A small residual network (packed DSPs, a merged downsample, a skip in the epilogue, ragged channels
and columns, an unquantised output) is generated once. Every mutant is one edit of a copy of its
sources; it is compiled with checked widths, run on the generated pictures, and compared as
`finn-resnet verify` compares. Stream depths are mutated in the cycle-level simulation. Outcomes:

    codes      tensors or output bytes differ        fault     the C++ broke a rule of its own
    compiler   it does not compile                   deadlock  the simulation stands still
    survived   nothing was found

A mutant that must survive says why it is equivalent. The exit status is 1 if another one survived.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.project import generate_project
from finn_resnet.generation.project_file import load_project
from finn_resnet.parallelism import ApplyFolding
from finn_resnet.simulation import compiler
from finn_resnet.simulation.runner import SimulationError
from finn_resnet.simulation.simulate import simulate_project
from finn_resnet.transformation import (
    AbsorbAddIntoAccumulator,
    ForwardWindowBuffer,
    FuseRequantChains,
    InsertWidthAdapters,
    LowerToHardware,
    MergeDownsampleLoop,
    SetStreamDepths,
)
from finn_resnet.transformation.graph_edit import nodes_of
from finn_resnet.verification import verify_project
from finn_resnet.verification.generated_pictures import generated_pictures
from tests.qonnx_models import ModelBuilder

CAUGHT = ("codes", "fault", "compiler", "deadlock")
_DEPTH = "depth"


@dataclass(frozen=True)
class Mutant:
    """One edit: the first match of ``pattern`` in ``file`` becomes ``replacement``.

    ``within`` names a struct of config.hpp where the edit is; "+1" adds one to a number.
    ``equivalent`` says why a mutant computes the same; only those may survive. With the file
    "depth" the stream ``pattern`` gets the depth ``replacement``.
    """

    name: str
    file: str
    pattern: str
    replacement: str
    within: str = ""
    equivalent: str = ""


def _config(name: str, struct: str, pattern: str, replacement: str, equivalent: str = "") -> Mutant:
    return Mutant(name, "config.hpp", pattern, replacement, f"struct {struct}_config", equivalent)


def _weight(layer: str) -> Mutant:
    """The first weight of a layer, one more."""
    path = f"weights/{layer}_weights.inc"
    return Mutant(f"weight of {layer}", path, r"-?\d+", "+1", "")


MUTANTS = (
    *(_weight(layer) for layer in ("conv3", "conv8", "conv17", "conv13", "conv24")),
    _config("bias of conv3", "conv3", r"-4188", "-4187"),
    _config("bias of the downsample", "conv8_ds", r"\{460", "{461"),
    _config("bias of the output", "conv24", r"\{197", "{198"),
    _config("clip high of conv3", "conv3", r"0, 255>", "0, 227>"),
    _config("clip of conv3 out of reach", "conv3", r"0, 255>", "0, 254>",
            "its accumulator is at most 58367, which is code 228"),
    _config("clip low of conv3", "conv3", r"0, 255>", "1, 255>"),
    _config("clip high of the downsample", "conv8_ds", r"-128, 127>", "-128, 126>"),
    _config("clip low of the downsample", "conv8_ds", r"-128, 127>", "-127, 127>"),
    _config("clip high after the addition", "conv13", r"0, 254>", "0, 253>"),
    _config("shift of conv3", "conv3", r"<18, 9, 8,", "<18, 9, 7,"),
    _config("shift before the addition", "conv13", r"<18, 8, 6,", "<18, 8, 5,"),
    _config("ties up in conv3", "conv3", r"half_even", "half_up"),
    _config("ties down in conv8", "conv8", r"half_even", "half_down"),
    _config("floor in the downsample", "conv8_ds", r"half_even", "floor"),
    _config("ties up before the addition", "conv13", r"6, fr::rounding::half_even",
           "6, fr::rounding::half_up"),
    _config("scale of the sum", "conv13", r"acc_factor = 1;", "acc_factor = 2;"),
    _config("scale of the skip", "conv13", r"skip_factor = 1;", "skip_factor = 2;"),
    Mutant("no borrow between packed fields", "include/mac.hpp", r"borrowed \? 1 : 0", "0"),
    Mutant("borrow inverted", "include/mac.hpp", r"borrowed \? 1 : 0", "borrowed ? 0 : 1"),
    _config("packed field a bit short", "conv3", r"field_bits = 18", "field_bits = 17",
            "its sums fit 17 bits (sum_bits)"),
    _config("packed field three bits short", "conv3", r"field_bits = 18", "field_bits = 15"),
    _config("one product per DSP", "conv3", r"port_operands = 2", "port_operands = 1"),
    Mutant("window rows and columns swapped", "include/conv.hpp", r"i \* C::fw \+ j",
           "j * C::fw + i"),
    Mutant("lane's stride dropped", "include/conv.hpp", r"first \+ l \* C::stride_w", "first + l"),
    _config("padding above", "conv3_window", r"pad_top = 1", "pad_top = 0"),
    _config("padding to the left", "conv8_window", r"pad_left = 1", "pad_left = 0"),
    _config("padding code", "conv3_window", r"pad_value = 0", "pad_value = 1"),
    _config("row of the downsample's tap", "conv8_ds", r"row = 1", "row = 0"),
    _config("column of the downsample's tap", "conv8_ds", r"column = 1", "column = 2"),
    Mutant("output bytes zero", "include/dma.hpp",
           r"\(code >> \(8 \* \(i % C::code_bytes\)\)\) & 255", "0"),
    Mutant("output bytes swapped", "include/dma.hpp",
           r"8 \* \(i % C::code_bytes\)", "8 * (C::code_bytes - 1 - i % C::code_bytes)"),
    Mutant("output lane does not start anew in a row", "include/dma.hpp",
           r"parts - 1\) count_up<C::lanes - 1>\(lane, w == C::w - 1\)",
           "parts - 1) count_up<C::lanes - 1>(lane)"),
    Mutant("no TLAST", "include/dma.hpp", r"rest_bytes, true", "rest_bytes, false"),
    Mutant("TLAST a beat early", "include/dma.hpp", r"beats == shape::beats",
           "beats + 1 == shape::beats"),
    Mutant("last beat not padded", "include/dma.hpp",
           r"buffer\[i\] : std::uint8_t\{0\}", "buffer[i] : std::uint8_t{1}"),
    _config("channels of the output", "output_dma_0", r"ch = 5", "ch = 6"),
    _config("a word of weights too few", "conv8_weights", r"words = 6", "words = 5"),
    _config("weights sent once too often", "conv24_weights", r"repeats = 6", "repeats = 7"),
    _config("accumulator of 17 bits", "conv3", r"acc_bits = 18", "acc_bits = 17"),
    _config("accumulator of 12 bits", "conv8", r"acc_bits = 18", "acc_bits = 12"),
    _config("accumulator a bit wider", "conv3", r"acc_bits = 18", "acc_bits = 19",
            "a wider accumulator holds the same sums"),
    _config("sum of products of 16 bits", "conv3", r"sum_bits = 17", "sum_bits = 16"),
    _config("total of 8 bits", "conv13", r"total_bits = 9", "total_bits = 8"),
    _config("output code of 15 bits", "conv24", r"out_bits = 16", "out_bits = 15"),
    Mutant("bias added in every input group", "include/conv.hpp",
           r"if \(first\) base = initial", "base = initial"),
    Mutant("accumulator kept between pixels", "include/conv.hpp",
           r"if \(first\) base = initial\[l\]\[o\];", ""),
    Mutant("skip read from the other lane", "include/conv.hpp",
           r"skip_token = skip\[l\]\.read\(\)", "skip_token = skip[C::ow_par - 1 - l].read()"),
    Mutant("ragged channels written", "include/conv.hpp",
           r": code_t<C::out_bits, C::out_signed>\(0\)", ": code_t<C::out_bits, C::out_signed>(1)",
           equivalent="entries beyond the last channel are dropped by the DMA or meet weight 0"),
    Mutant("depth of the skip stream 1", _DEPTH, "conv8_ds_out", "1"),
)  # fmt: skip
"""The mutants, by name; `MUTANTS_IN_CI` of them run with the tests."""

MUTANTS_IN_CI = (
    "weight of conv24", "bias of the downsample", "clip high of conv3", "ties up in conv3",
    "no borrow between packed fields", "window rows and columns swapped", "padding code",
    "output bytes swapped", "TLAST a beat early", "output lane does not start anew in a row",
    "accumulator of 17 bits", "skip read from the other lane",
)  # fmt: skip


class MutationBench:
    """The network, its generated C++, and the pictures."""

    def __init__(self, folder: Path) -> None:
        """Generate into ``folder``."""
        net = ModelBuilder(6)
        x = net.relu(net.conv(net.quant("image", -7), 3, 4, 3))
        x = net.block(x, 4, 6, 2)
        self.original = net.model(net.conv(x, 6, 5, 1), [1, 3, 5, 5], [1, 5, 3, 3])
        self.model = _hardware(self.original)
        self._project = Path(generate_project(self.model, folder, "net").directory)
        self._pictures = generated_pictures(self.model)

    def check(self, mutants: Iterable[Mutant]) -> None:
        """Raise LookupError or ValueError where an edit does not find its place."""
        streams = {stream.name for stream in load_project(self._project).streams}
        for mutant in mutants:
            if mutant.file != _DEPTH:
                _edited(self._project, mutant)
            elif mutant.pattern not in streams:
                raise LookupError(f"mutant '{mutant.name}': no stream {mutant.pattern}")

    def run(self, mutant: Mutant | None) -> tuple[str, str]:
        """Outcome and detail of a mutant, or of the design as it is."""
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / "hls"
            shutil.copytree(self._project, copy)
            if mutant is not None and mutant.file == _DEPTH:
                return _simulated(copy, mutant)
            if mutant is not None:
                (copy / mutant.file).write_text(_edited(copy, mutant))
            try:
                result = verify_project(self.model, self.original, copy, self._pictures)
            except SimulationError as fault:
                return "fault", str(fault)
            except compiler.CompilationError as fault:
                return "compiler", str(fault)
            if result.failure is not None:
                return "codes", ", ".join(result.mismatches)
            return "survived", mutant.equivalent if mutant is not None else ""


def _hardware(original: ModelWrapper) -> ModelWrapper:
    steps = [
        LowerToHardware(),
        FuseRequantChains(),
        MergeDownsampleLoop(),
        ForwardWindowBuffer(),
        AbsorbAddIntoAccumulator(),
    ]
    model = original
    for step in steps:
        model = model.transform(step)
    factors = {"och_par": 2, "ich_par": 2, "ow_par": 2, "mac_style": "dsp"}
    folding = {"Defaults": {}, **{n.name: factors for n in nodes_of(model, "StreamConv")}}
    for step in (ApplyFolding(folding), InsertWidthAdapters(), SetStreamDepths()):
        model = model.transform(step)
    return model


def _edited(project: Path, mutant: Mutant) -> str:
    """The mutated content of the mutant's file."""
    text = (project / mutant.file).read_text()
    start = text.index(f"{mutant.within} {{") if mutant.within else 0
    found = re.compile(mutant.pattern).search(text, start)
    if found is None:
        raise LookupError(f"mutant '{mutant.name}': nothing matches {mutant.pattern}")
    number = str(int(found.group()) + 1) if mutant.replacement == "+1" else None
    return text[: found.start()] + (number or mutant.replacement) + text[found.end() :]


def _simulated(project: Path, mutant: Mutant) -> tuple[str, str]:
    # Generous, so that a deadlock is the mutated stream's.
    depths = {stream.name: 64 for stream in load_project(project).streams}
    depths[mutant.pattern] = int(mutant.replacement)
    found = simulate_project(project, frames=3, depths=depths)
    return ("deadlock", str(found.deadlock)) if found.deadlock else ("survived", mutant.equivalent)


def main() -> int:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants to run; all if none")
    parser.add_argument("--rows", type=Path, help="file for one JSON line each")
    arguments = parser.parse_args()
    compiler._UNTIMED = ("-O0",)  # the runs are short, the compilations many
    chosen = [m for m in MUTANTS if not arguments.names or m.name in arguments.names]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        bench = MutationBench(Path(folder))
        print(f"the design itself: {bench.run(None)[0]}")
        for mutant in chosen:
            outcome, detail = bench.run(mutant)
            print(f"{outcome:9} {mutant.name}: {detail}", flush=True)
            if arguments.rows is not None:
                row = {**asdict(mutant), "outcome": outcome, "detail": detail}
                with arguments.rows.open("a", encoding="utf-8") as rows:
                    rows.write(json.dumps(row) + "\n")
            if outcome == "survived" and not mutant.equivalent:
                missed.append(mutant.name)
    same = sum(bool(mutant.equivalent) for mutant in chosen)
    print(f"{len(chosen) - same - len(missed)} of {len(chosen) - same} caught, {same} equivalent")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
